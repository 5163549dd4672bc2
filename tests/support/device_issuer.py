"""An issuer at which people sign in with the device flow (RFC 8628), on loopback."""

import json
from typing import Any

from support.identity_issuer import IdentityIssuer
from support.web_server import Request, reply

PENDING = (400, {"error": "authorization_pending"})


class DeviceIssuer(IdentityIssuer):
    """An issuer with sign-in for devices.

    `says` is what it says to the questions of a command, in order. After that, the person is still busy.
    """

    def __init__(self) -> None:
        super().__init__()
        self.says: list[tuple[int, dict[str, Any]]] = []
        self.page = f"{self.url}/device"
        self.known = {
            "issuer": self.url,
            "jwks_uri": f"{self.url}/keys",
            "token_endpoint": f"{self.url}/token",
            "authorization_endpoint": f"{self.url}/authorize",
            "device_authorization_endpoint": f"{self.url}/codes",
        }
        self.server.answers["/.well-known/openid-configuration"] = self._discovery
        self.server.answers["/codes"] = self._codes
        self.server.answers["/token"] = self._token

    def _discovery(self, request: Request) -> None:
        reply(json.dumps(self.known).encode())(request)

    def _codes(self, request: Request) -> None:
        given = {"device_code": "d3v1ce", "user_code": "WDJB-MJHT", "verification_uri": self.page, "expires_in": 60}
        reply(json.dumps({**given, "interval": 1}).encode())(request)

    def _token(self, request: Request) -> None:
        status, said = self.says.pop(0) if self.says else PENDING
        reply(json.dumps(said).encode(), status)(request)

    def person(self, **changes: Any) -> dict[str, Any]:
        """Return the answer for a person who has entered the code."""
        claims = {"aud": "skills", "sub": "0a1b2c", "preferred_username": "ann", "groups": ["acme-team"]}
        return {"id_token": self.token(**(claims | changes)), "access_token": "unused", "token_type": "Bearer"}
