"""What `registry.toml` may not name if it was merely found in the current folder: where secrets from elsewhere go.

A cloned repository can hold such a file. Otherwise it would collect the secrets of a user who runs a command in it.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from registry.config.settings import Settings

_SDK_HEADERS = "OPENAI_CUSTOM_HEADERS"
"""The OpenAI SDK sends the headers in this variable with every request."""


class _Receiver(NamedTuple):
    """A setting that decides who gets the use of a secret.

    Args:
        key: The setting.
        variable: The environment variable of the setting.
        secret: The setting of the secret, or what a library finds in places of its own.
    """

    key: str
    variable: str
    secret: str


def misdirected(
    settings: "Settings", origins: Mapping[str, str], found_file: str, environ: Mapping[str, str]
) -> Iterator[str]:
    """Yield a message for each secret from elsewhere that would go where only the found file says.

    Args:
        settings: All settings.
        origins: Where each setting that is not a default comes from: a flag, a variable or a file.
        found_file: The configuration file that was found in the current folder.
        environ: The environment.
    """
    of_settings = [receiver for receiver in _of_settings(settings) if receiver.secret in origins]
    for key, variable, secret in (*of_settings, *_of_libraries(settings, environ)):
        origin = origins.get(secret)
        if origins.get(key) == found_file != origin:
            source = f" (from {origin})" if origin else ""
            yield (
                f"{key} (from {found_file} in the current folder): {secret}{source} is not used as only this file "
                f"says: set {variable}, or name the file with --config"
            )


def _of_settings(settings: "Settings") -> Iterator[_Receiver]:
    yield _Receiver("client.server", "SKILL_REGISTRY_SERVER", "client.api_key")
    if settings.embedding.provider in {"auto", "hosted"}:
        yield _Receiver("embedding.base_url", "SKILL_REGISTRY_EMBEDDING_BASE_URL", "embedding.api_key")
    for name in ("failed", "passed"):
        webhook = f"webhooks.validation_{name}"
        variable = f"SKILL_REGISTRY_WEBHOOKS_VALIDATION_{name.upper()}_URL"
        yield _Receiver(f"{webhook}.url", variable, f"{webhook}.secret")
    yield _Receiver("telemetry.endpoint", "SKILL_REGISTRY_TELEMETRY_ENDPOINT", "telemetry.headers")
    if settings.auth.oidc.issuer is not None:  # another issuer would get the secret, and say who is an administrator
        for secret in ("auth.oidc.client_secret", "auth.secret"):
            yield _Receiver("auth.oidc.issuer", "SKILL_REGISTRY_AUTH_OIDC_ISSUER", secret)
    if settings.auth.issuer == "open":  # everybody would get tokens that other services with this secret accept
        yield _Receiver("auth.issuer", "SKILL_REGISTRY_AUTH_ISSUER", "auth.secret")


def _of_libraries(settings: "Settings", environ: Mapping[str, str]) -> Iterator[_Receiver]:
    for name in ("proxy", "https_proxy", "http_proxy", "ca_file", "ca_dir"):  # they read what is sent to any server
        if getattr(settings.outbound, name) is not None:
            variable = f"SKILL_REGISTRY_OUTBOUND_{name.upper()}"
            yield _Receiver(f"outbound.{name}", variable, "a credential of the user")
    if any(entry.askpass for entry in settings.outbound.git_credentials):  # it would run a program of the folder
        variable = "SKILL_REGISTRY_OUTBOUND_GIT_CREDENTIALS"
        yield _Receiver("outbound.git_credentials", variable, "a credential of the user")
    if settings.embedding.provider in {"auto", "hosted"} and environ.get(_SDK_HEADERS):
        yield _Receiver("embedding.base_url", "SKILL_REGISTRY_EMBEDDING_BASE_URL", _SDK_HEADERS)
    if (
        settings.s3.bucket or settings.s3.private_bucket
    ):  # boto3 looks in variables, files and the metadata of a machine
        yield _Receiver("s3.endpoint", "SKILL_REGISTRY_S3_ENDPOINT", "the S3 credential of the user")
    if (url := settings.database.url) and url.file is None and _needs_password(url.reveal()):
        yield _Receiver("database.url", "SKILL_REGISTRY_DATABASE_URL", "the PostgreSQL password of the user")


def _needs_password(url: str) -> bool:
    """Return whether libpq looks for a password in PGPASSWORD and in files, to send it to what a URL names.

    It does not look if the URL has one. A URL without a host and parameters leads to where the environment says.
    """
    try:
        parts = urlsplit(url)
        return not parts.password and bool(parts.netloc.rpartition("@")[2] or parts.query)
    except ValueError:
        return True
