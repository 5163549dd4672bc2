"""What the service and its clients share: the path of the HTTP API, and the header of a credential."""

from collections.abc import Mapping

API = "/api/v1"
"""The prefix of every versioned route."""

MIRRORS_PATH = "/mirrors"
"""The path of a service below which its mirrors are, each by the name of its source."""

SCOPES_PATH = "/scopes"
"""The path of a service below which its private scopes are, each by its name."""

API_KEY_PREFIX = "sk_"


def credential_header(secret: str) -> Mapping[str, str]:
    """Return the header that carries an API key or a token."""
    return {"x-api-key": secret} if secret.startswith(API_KEY_PREFIX) else {"Authorization": f"Bearer {secret}"}
