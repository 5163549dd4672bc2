"""Who may use which route in the registry profile: the table of roles, route by route."""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from registry.conformance.answer import NotApplicable
from registry.conformance.rows import Row, Section
from registry.conformance.service import Service

ACCESS = Section("Authentication: roles of the routes")

_ROUTES = """
user     GET     /api/code/v1/skills
user     GET     /api/code/v1/skills/{id}
manager  POST    /api/code/v1/skills
manager  PUT     /api/code/v1/skills/{id}
manager  DELETE  /api/code/v1/skills/{id}
manager  POST    /api/code/v1/skills/{id}/versions
user     GET     /api/code/v1/skills/{id}/versions
user     GET     /api/code/v1/skills/{id}/versions/9.9.9
manager  DELETE  /api/code/v1/skills/{id}/versions/9.9.9
user     GET     /v1/skills
user     GET     /v1/skills/{id}
manager  POST    /v1/skills
manager  DELETE  /v1/skills/{id}
manager  POST    /v1/skills/{id}/versions
user     GET     /v1/skills/{id}/versions
user     GET     /v1/skills/{id}/versions/9.9.9
manager  DELETE  /v1/skills/{id}/versions/9.9.9
public   GET     /api/status
user     GET     /api/skills
user     GET     /api/skills/{id}
manager  POST    /api/skills
manager  PUT     /api/skills/{id}
manager  DELETE  /api/skills/{id}
user     POST    /api/search
manager  POST    /api/reindex
manager  POST    /api/reindex/{id}
user     GET     /api/registry/sources                      registry
user     GET     /api/registry/skills                       registry
user     GET     /api/registry/sources/{id}/skills          registry
user     GET     /api/registry/sources/{id}/marketplace     registry
manager  POST    /api/registry/refresh                      registry
manager  POST    /api/registry/publish                      registry
user     GET     /api/registry/publish/{id}/status          registry
user     GET     /api/manifest/skills                       registry
manager  POST    /api/manifest/skills                       registry
manager  PUT     /api/manifest/skills/{id}                  registry
manager  DELETE  /api/manifest/skills/{id}                  registry
manager  POST    /api/manifest/generate-mdc                 registry
"""
"""The routes of profile A with the least role of each. Those of `/v1/skills` and the exact roles of some are decided
by the page of the HTTP interface; `registry` marks those of registry mode."""

_ID = "conformance-absent"


class _Route(NamedTuple):
    role: str
    method: str
    path: str


def _routes() -> Iterator[tuple[_Route, bool]]:
    for line in _ROUTES.strip().splitlines():
        role, method, path, *more = line.split()
        yield _Route(role, method, path.replace("{id}", _ID)), bool(more)


def _without(route: _Route, service: Service) -> None:
    if service.anonymous_read and route.role == "user":
        raise NotApplicable("this registry lets every caller read")
    answer = service.ask(route.method, route.path, role=None, json={} if route.method in ("POST", "PUT") else None)
    if route.role == "public":
        answer.has_status(200)
    else:
        answer.error(401, "UNAUTHORIZED")


def _too_low(route: _Route, service: Service) -> None:
    headers = service.exactly("user")
    answer = service.ask(
        route.method, route.path, role=None, headers=headers, json={} if route.method in ("POST", "PUT") else None
    )
    answer.error(403, "FORBIDDEN")


def _served(route: _Route, service: Service) -> None:
    answer = service.ask(route.method, route.path, role="user").survives()
    answer.has_status(200, 404)
    if answer.status == 404:
        answer.any_error("SKILL_NOT_FOUND", "NOT_FOUND")


def _rows() -> Iterator[Row]:
    for route, registry in _routes():
        name = f"{route.method} {route.path.replace(_ID, '{id}')}"
        add = partial(Row, ACCESS.name, profile="registry", registry_mode=registry)
        decided = route.path.startswith("/v1/")
        if route.role == "public":
            yield add(f"{name} is public", partial(_without, route), decided=True)
            continue
        yield add(f"{name} without a credential is 401", partial(_without, route), decided=decided)
        if route.role == "manager":
            yield add(f"{name} is 403 for the role user", partial(_too_low, route), role="user", decided=decided)
        elif route.method == "GET":
            yield add(f"{name} is open to the role user", partial(_served, route), role="user", decided=decided)


ACCESS.rows.extend(_rows())


@ACCESS.row("keys, users and the audit log are for administrators", profile="registry", role="manager", decided=True)
def _administration(service: Service) -> None:
    for path in ("/api/v1/auth/keys", "/api/v1/auth/users", "/api/v1/audit"):
        service.ask("GET", path, role=None, headers=service.exactly("manager")).error(403, "FORBIDDEN")


@ACCESS.row("an unknown route is 404 before the caller is asked for a credential", profile="registry", decided=True)
def _unknown_first(service: Service) -> None:
    for path in ("/api/nothing", "/api/code/v1/nothing", "/api/v1/nothing", "/v1/nothing"):
        service.ask("GET", path, role=None).error(404, "NOT_FOUND")


@ACCESS.row("who may not is told so before what is wrong with the body", profile="registry", role="user", decided=True)
def _role_first(service: Service) -> None:
    for headers, status in (({}, 401), (service.exactly("user"), 403)):
        service.ask("POST", "/api/skills", role=None, headers=headers, content=b"{").has_status(status)
