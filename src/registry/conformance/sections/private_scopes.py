"""Private scopes: registries of their own for their members, and nothing for other callers."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from registry.conformance.answer import NotApplicable, expect
from registry.conformance.rows import Section
from registry.conformance.sections.publishing import package, upload
from registry.conformance.service import NAME, Service
from registry.conformance.shapes import MEMBER, PRIVATE_SCOPE

PRIVATE_SCOPES = Section("Private scopes")
_ROW: dict[str, Any] = {"profile": "registry", "registry_mode": True, "decided": True}
_MADE: dict[str, Any] = {**_ROW, "role": "admin", "level": "publish"}
_PATH = "/api/v1/private-scopes"
_WHAT = "private scopes"
_READER = f"{NAME}/reader"


class _Scope(NamedTuple):
    """A private scope: where it is served, its owner and a reader."""

    path: str
    members: str
    owner: dict[str, str]
    reader: dict[str, str]


@PRIVATE_SCOPES.row("the list of private scopes needs a credential, and shows callers their own", role="user", **_ROW)
def _listed(service: Service) -> None:
    service.offers(service.ask("GET", _PATH, role=None), _WHAT).error(401, "UNAUTHORIZED")
    answer = service.ask("GET", _PATH, role=None, headers=service.exactly("user"))
    scopes, _ = answer.page()
    for scope in scopes:
        answer.fields(scope, PRIVATE_SCOPE, "data[]")


@PRIVATE_SCOPES.row(
    "a path below /scopes/ is 401 without a credential, and 404 for who is no member", role="user", **_ROW
)
def _absent(service: Service) -> None:
    service.offers(service.ask("GET", _PATH, role="user"), _WHAT)
    for path in ("/api/skills", "/index/x/y", "/nothing"):
        service.ask("GET", f"/scopes/{service.new_id()}{path}", role=None).error(401, "UNAUTHORIZED")
        answer = service.ask("GET", f"/scopes/{service.new_id()}{path}", role=None, headers=service.exactly("user"))
        answer.error(404, "NOT_FOUND")


@PRIVATE_SCOPES.row("who is no member gets the answer of a scope that is not there", **_MADE)
def _unseen(service: Service) -> None:
    with _scope(service) as scope:
        absent = scope.path[:-1] + ("x" if scope.path[-1] != "x" else "y")
        for path in ("/api/skills", "/api/v1/log/checkpoint", "/index/x/y", "/nothing"):
            for who in (service.exactly("user"), service.exactly("admin")):
                there, not_there = (
                    service.ask("GET", f"{below}{path}", role=None, headers=who) for below in (scope.path, absent)
                )
                seen = [(answer.status, answer.response.content) for answer in (there, not_there)]
                there.expect(seen[0] == seen[1], "the answer of a scope that is not there", there.response.text)
                there.error(404, "NOT_FOUND")
        listed = service.ask("GET", _PATH, role=None, headers=service.exactly("user")).items()
        names = [private["scope"] for private in listed]
        expect(scope.path.rpartition("/")[2] not in names, "no such scope in the list of others", names)


@PRIVATE_SCOPES.row("a reader reads, and changes neither skills nor members", **_MADE)
def _reader(service: Service) -> None:
    with _scope(service) as scope:
        answer = service.ask("GET", f"{scope.path}/api/skills", role=None, headers=scope.reader)
        answer.expect(answer.page()[0] == [], "no skill yet", answer.response.text)
        upload(service, package(NAME), scope.path, role=None, headers=scope.reader).error(403, "FORBIDDEN")
        change = service.ask("PUT", scope.members + _READER, role=None, headers=scope.reader, json={"role": "owner"})
        change.error(404, "NOT_FOUND")
        service.ask("GET", f"{scope.path}/auth/keys", role=None, headers=scope.reader).error(404, "NOT_FOUND")


@PRIVATE_SCOPES.row("owners say who is a member; one owner stays", **_MADE)
def _owner(service: Service) -> None:
    with _scope(service) as scope:
        listed = service.ask("GET", scope.members.rstrip("/"), role=None, headers=scope.owner)
        members, _ = listed.page()
        roles = {listed.fields(member, MEMBER, "data[]")["user"]: member["role"] for member in members}
        listed.expect(sorted(roles.values()) == ["owner", "reader"], "an owner and a reader", roles)
        owner = next(name for name, role in roles.items() if role == "owner")
        service.ask("DELETE", scope.members + owner, role=None, headers=scope.owner).error(409, "CONFLICT")
        for body in ({"role": "admin"}, {}, {"role": "reader", "until": "2030"}):
            answer = service.ask("PUT", scope.members + _READER, role=None, headers=scope.owner, json=body)
            answer.error(400, "VALIDATION_ERROR")
        service.ask("DELETE", scope.members + _READER, role=None, headers=scope.owner).data()
        gone = service.ask("GET", f"{scope.path}/api/skills", role=None, headers=scope.reader)
        gone.error(404, "NOT_FOUND")


@PRIVATE_SCOPES.row("a package of a private scope is refused outside of it", **_MADE)
def _wrong_address(service: Service) -> None:
    with _scope(service) as scope:
        name = scope.path.rpartition("/")[2]
        publisher = service.sign_in(username=f"{name}/publisher", role="manager")
        upload(service, package(service.new_id()), role=None, headers=publisher).error(403, "FORBIDDEN")


@PRIVATE_SCOPES.row("a closed scope is gone for its members too", **_MADE)
def _closed(service: Service) -> None:
    with _scope(service) as scope:
        service.ask("DELETE", f"{_PATH}/{scope.path.rpartition('/')[2]}", role="admin").data()
        for who in (scope.reader, scope.owner):
            service.ask("GET", f"{scope.path}/api/skills", role=None, headers=who).error(404, "NOT_FOUND")


@contextmanager
def _scope(service: Service) -> Iterator[_Scope]:
    """Add a private scope for the block, and close it afterwards; its folder stays. Raises NotApplicable, Mismatch."""
    name = service.new_id()
    owner, reader = f"{name}/owner", _READER
    headers = [service.sign_in(username=user, role="user") for user in (owner, reader)]
    answer = service.ask("POST", _PATH, role="admin", json={"scope": name, "owner": owner})
    if answer.status == 409:
        raise NotApplicable(f"the service has no room for a private scope: {answer.error(409)['message']}")
    path = str(service.offers(answer, _WHAT).object(PRIVATE_SCOPE, 201)["path"])
    try:
        members = f"{_PATH}/{name}/members/"
        service.ask("PUT", members + reader, role=None, headers=headers[0], json={"role": "reader"}).data()
        yield _Scope(path, members, *headers)
    finally:
        if service.ask("DELETE", f"{_PATH}/{name}", role="admin").status not in (200, 404):
            service.leftovers.append(f"the private scope {name}")
