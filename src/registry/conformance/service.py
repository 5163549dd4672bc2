"""The service under test: requests, the credentials of each role, and skills that are created and removed again."""

import ipaddress
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Literal

import httpx

from registry.conformance.answer import Answer, Mismatch, NotApplicable

ROLES = ("user", "manager", "admin")
NAME = "conformance"
"""What the ids of everything that is created begin with, and the scope that is published into."""

_MAX_WAIT_SECONDS = 90
_TRIES = 3


class NotAService(Exception):
    """There is no service that speaks the protocol; the text says what was seen."""


class Service:
    """A service that claims the protocol. Everything it is asked passes through `ask`.

    Args:
        http: A client with the address of the service as its base. It follows no redirects.
        credential: The headers of the caller's credential, none for a service that needs none.
        levels: What the caller allows: `read`, `write`, `publish`.
        profile: `local` or `registry`; found out if it is None.
    """

    def __init__(
        self,
        http: httpx.Client,
        credential: Mapping[str, str],
        levels: frozenset[str] = frozenset({"read"}),
        profile: Literal["local", "registry"] | None = None,
    ) -> None:
        self._http = http
        self.given = dict(credential)
        self.levels = levels
        self.run = secrets.token_hex(3)
        self._count = 0
        self._sample: str | None = None
        self._issued: list[str] = []
        self._by_role: dict[str, dict[str, str]] = {}
        self.leftovers: list[str] = []
        self.profile = profile or self._detected()
        self.registry_mode = False
        self.anonymous_read = False
        if self.profile == "registry":
            self._sign_in()
            self.registry_mode = self.ask("GET", "/api/registry/sources").status != 404
            self.anonymous_read = self.ask("GET", "/api/registry/sources", role=None).status == 200

    @property
    def api(self) -> str:
        """The prefix of the routes that both profiles have."""
        return "/api/v1" if self.profile == "local" else "/api"

    @property
    def is_loopback(self) -> bool:
        """Whether the service is on this machine."""
        host = self._http.base_url.host
        try:
            return ipaddress.ip_address(host.strip("[]")).is_loopback
        except ValueError:
            return host == "localhost"

    def _detected(self) -> Literal["local", "registry"]:
        try:
            seen = self._send("GET", "/api/status", {}).status_code
            has_tokens = self._send("GET", "/auth/verify", {}).status_code != 404
        except httpx.HTTPError as error:
            raise NotAService(f"no answer ({str(error) or type(error).__name__}): is the service running?") from None
        if seen == 308:
            return "local"
        if seen == 200 or has_tokens:
            return "registry"
        raise NotAService(
            f"neither profile was recognised: /api/status answers {seen}, where the local profile redirects (308) and "
            "the registry profile answers 200. Is the URL right? --profile names the profile"
        )

    def _sign_in(self) -> None:
        """Get a token of every role that the credential, or the service, allows."""
        for role in ROLES:
            for body in ({"role": role, "username": f"{NAME}/{role}"}, {"role": role}):
                answer = self.ask("POST", "/auth/token", role=None, headers=self.given, json=body)
                token = _field(answer, "token")
                if token:
                    self._issued.append(token)
                    self._by_role[role] = bearer(token)
                    break
        if self.given and not self._by_role:
            own = _field(self.ask("GET", "/auth/verify", role=None, headers=self.given), "role")
            self._by_role[own if own in ROLES else "user"] = dict(self.given)

    def credential(self, role: str) -> dict[str, str] | None:
        """Return the headers of a caller of at least this role, None if there is none."""
        return next((self._by_role[name] for name in ROLES[ROLES.index(role) :] if name in self._by_role), None)

    def exactly(self, role: str) -> dict[str, str]:
        """Return the headers of a caller of this very role. Raises NotApplicable."""
        if role not in self._by_role:
            raise NotApplicable(f"no credential of the role {role}: give one of an administrator with --token")
        return self._by_role[role]

    def sign_in(self, **body: str) -> dict[str, str]:
        """Return the headers of a caller who gets a token for a body with this run's credential; `close` ends it.

        Raises NotApplicable where the service issues none, Mismatch.
        """
        answer = self.ask("POST", "/auth/token", role=None, headers=self.given, json=body)
        if answer.status in (401, 403):
            raise NotApplicable("the service issues no token for another user with this credential")
        token = str(self.offers(answer, "tokens").object({"token": "text"})["token"])
        self._issued.append(token)
        return bearer(token)

    def offers(self, answer: Answer, what: str) -> Answer:
        """Return an answer of a service that has what was requested.

        Raises NotApplicable where the route is missing, and where this address has failed too often a moment ago.
        """
        if answer.status == 404:
            raise NotApplicable(f"the service offers no {what}")
        if answer.status == 429:
            raise NotApplicable("the service has counted too many failures of this address: run this row again later")
        return answer

    def ask(
        self,
        method: str,
        path: str,
        *,
        role: str | None = "default",
        headers: Mapping[str, Any] | None = None,
        **parts: Any,
    ) -> Answer:
        """Send a request as a caller of a role: `user` for reads and `manager` for the rest unless `role` says else.

        Raises Mismatch if no answer arrives.
        """
        if role == "default":
            role = "user" if method in ("GET", "HEAD", "OPTIONS") else "manager"
        sent = {**((self.credential(role) or {}) if role and self.profile == "registry" else {}), **(headers or {})}
        name = f"{method} {path if len(path) < 100 else path[:99] + '…'}"
        try:
            return Answer(self._patiently(method, path, sent, **parts), name)
        except httpx.HTTPError as error:
            raise Mismatch(f"an answer to {name}", f"none: {str(error) or type(error).__name__}") from None

    def _patiently(self, method: str, path: str, headers: Mapping[str, Any], **parts: Any) -> httpx.Response:
        """Send a request, again after a while if the caller has sent too many."""
        for _ in range(_TRIES):
            response = self._send(method, path, headers, **parts)
            wait = response.headers.get("Retry-After", "")
            if response.status_code != 429 or not wait.isdecimal() or int(wait) > _MAX_WAIT_SECONDS:
                break
            time.sleep(int(wait) + 1)
        return response

    def _send(self, method: str, path: str, headers: Mapping[str, Any], **parts: Any) -> httpx.Response:
        url = self._http.base_url
        raw_path = url.raw_path.rstrip(b"/") + path.encode()
        target = url.copy_with(raw_path=raw_path)  # as it stands: httpx would rewrite dots and percent signs
        return self._http.send(self._http.build_request(method, target, headers=dict(headers), **parts))

    def get(self, path: str, **parts: Any) -> Answer:
        """Read a path below the prefix that both profiles have."""
        return self.ask("GET", f"{self.api}{path}", **parts)

    def post(self, path: str, body: object, **parts: Any) -> Answer:
        """Send JSON to a path below the prefix that both profiles have."""
        return self.ask("POST", f"{self.api}{path}", json=body, **parts)

    def search(self, **body: Any) -> Answer:
        """Search."""
        return self.post("/search", body, role="user")

    def new_id(self) -> str:
        """Return an id that nothing has."""
        self._count += 1
        return f"{NAME}-{self.run}-{self._count}"

    def skill(self, **fields: Any) -> dict[str, Any]:
        """Return a body that creates a skill with a new id; `fields` replace those of the body."""
        body = {"id": self.new_id(), "name": "Conformance check", "version": "1.0.0"}
        return body | {"description": "A skill that a conformance check removes again."} | fields

    @contextmanager
    def created(self, prefix: str | None = None, **fields: Any) -> Iterator[dict[str, Any]]:
        """Create a skill for the block and remove it afterwards; yield the body."""
        body = self.skill(**fields)
        try:
            self.ask("POST", f"{prefix or self.api}/skills", json=body).has_status(200, 201)
            yield body
        finally:
            self.remove(body["id"])

    def remove(self, skill_id: str) -> None:
        """Remove a skill that a row has created, if it is still there."""
        try:
            status = self.ask("DELETE", f"{self.api}/skills/{skill_id}").status
        except Mismatch:
            status = 0
        if status not in (200, 404):
            self.leftovers.append(skill_id)

    def sample(self) -> str:
        """Return the id of a skill: one that is created for the run where that is allowed, else the first listed.

        Raises NotApplicable if there is none.
        """
        if self._sample is None and "write" in self.levels:
            body = self.skill(id=f"{NAME}-{self.run}", tags=["conformance"], author="conformance")
            self._sample = str(body["id"])
            self.post("/skills", body).has_status(200, 201)
        if self._sample is None:
            listed = self.get("/skills?limit=1").items()
            if not listed:
                raise NotApplicable("the catalog is empty; with --write a skill is created")
            return str(listed[0]["id"])
        return self._sample

    def close(self) -> None:
        """Remove what is left, and end the tokens that were issued for the run."""
        if self._sample:
            self.remove(self._sample)
        for token in self._issued:
            with suppress(Mismatch):
                self.ask("POST", "/auth/logout", role=None, headers=bearer(token))


def bearer(token: str) -> dict[str, str]:
    """Return the header of a token."""
    return {"Authorization": f"Bearer {token}"}


def _field(answer: Answer, name: str) -> str | None:
    """Return a text in `data` of a success, None for anything else: the rows tell what is wrong with it."""
    try:
        return str(answer.object({name: "text"})[name])
    except Mismatch:
        return None
