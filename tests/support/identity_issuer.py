"""An issuer of identity tokens on loopback, as a build server has one: discovery, keys that rotate, and tokens."""

import base64
import json
import secrets
import time
from collections.abc import Mapping
from typing import Any, Self

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

from support.web_server import WebServer, reply

AUDIENCE = "skill-registry"


class IdentityIssuer:
    """`url` names the issuer. `claims` are those of a token of the workflow `publish.yml` of `acme/skills`."""

    def __init__(self) -> None:
        self.server = WebServer()
        self.url = self.server.url
        self.keys: dict[str, rsa.RSAPrivateKey] = {}
        self.rotate()
        self.server.answers["/.well-known/openid-configuration"] = reply(
            json.dumps({"issuer": self.url, "jwks_uri": f"{self.url}/keys"}).encode()
        )

    def rotate(self) -> str:
        """Sign with a new key from now on, and list no other."""
        self.key_id = f"key-{secrets.token_hex(4)}"
        self.keys[self.key_id] = rsa.generate_private_key(65537, 2048)
        algorithm = jwt.algorithms.RSAAlgorithm(jwt.algorithms.RSAAlgorithm.SHA256)
        entry = algorithm.to_jwk(self.keys[self.key_id].public_key(), as_dict=True)
        listed = {"keys": [{**entry, "kid": self.key_id, "use": "sig"}]}
        self.server.answers["/keys"] = reply(json.dumps(listed).encode())
        return self.key_id

    def claims(self, **changes: Any) -> dict[str, Any]:
        """Return claims as GitHub Actions has them; those that are None are left out."""
        now = int(time.time())
        workflow = "acme/skills/.github/workflows/publish.yml@refs/heads/main"
        claims: dict[str, Any] = {
            "iss": self.url,
            "aud": AUDIENCE,
            "jti": secrets.token_hex(8),
            "iat": now,
            "nbf": now,
            "exp": now + 300,
            "sub": "repo:acme/skills:environment:release",
            "repository": "acme/skills",
            "repository_owner_id": "1234",
            "environment": "release",
            "job_workflow_ref": workflow,
            "workflow_ref": workflow,
            "event_name": "push",
            "ref": "refs/heads/main",
            "sha": "c0ffee" * 6 + "cafe",
            "run_id": "987654",
        }
        return {name: value for name, value in (claims | changes).items() if value is not None}

    def token(self, key_id: str | None = None, **changes: Any) -> str:
        """Return a signed token with these changes to its claims."""
        name = key_id or self.key_id
        return jwt.encode(self.claims(**changes), self.keys[name], "RS256", headers={"kid": name})

    def forged(self) -> str:
        """Return a token whose claims were changed after it was signed."""
        head, _, signature = self.token().split(".")
        return f"{head}.{_encoded(self.claims(ref='refs/heads/evil'))}.{signature}"

    def shared(self) -> str:
        """Return a token that is signed with HS256, and the public key as the secret."""
        head = _encoded({"alg": "HS256", "kid": self.key_id, "typ": "JWT"})
        return f"{head}.{_encoded(self.claims())}.{_encoded({'no': 'signature'})}"

    def __enter__(self) -> Self:
        self.server.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.server.__exit__(*error)


def _encoded(value: Mapping[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")
