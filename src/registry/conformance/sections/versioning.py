"""The prefixes of the routes, and what names their version."""

from registry.conformance.answer import Answer
from registry.conformance.rows import Section
from registry.conformance.service import Service

VERSIONING = Section("Versioning")


@VERSIONING.row("GET /api/<path> is redirected with 308 to /api/v1/<path>, with its query", profile="local")
def _redirect(service: Service) -> None:
    for path in ("skills", "skills?limit=1&offset=0", "status", "search?q=a+b%26c", "registry/sources"):
        _leads_to_v1(service.ask("GET", f"/api/{path}"), path)


@VERSIONING.row("every method is redirected", profile="local")
def _redirected_methods(service: Service) -> None:
    for method in ("POST", "PUT", "DELETE"):
        _leads_to_v1(service.ask(method, f"/api/skills/{service.new_id()}?x=1"), None)


@VERSIONING.row("the registry profile serves /api without a redirect", profile="registry", role="user")
def _no_redirect(service: Service) -> None:
    for path in ("/api/status", "/api/skills"):
        service.ask("GET", path).has_status(200)


@VERSIONING.row("X-API-Version: v1 is on every answer below /api/v1, errors too", profile="local")
def _names_version(service: Service) -> None:
    for method, path in (("GET", "/skills"), ("GET", "/status"), ("GET", "/nothing"), ("PATCH", "/skills"),
                         ("GET", "/skills?limit=x"), ("GET", "/skills/absent-one"), ("POST", "/search")):  # fmt: skip
        service.ask(method, f"/api/v1{path}").header("X-API-Version", "v1")


@VERSIONING.row(
    "/api/v1 is served behind the roles, with X-API-Version: v1", profile="registry", role="user", decided=True
)
def _guarded_v1(service: Service) -> None:
    for path, role, status in (("/skills", "user", 200), ("/skills", None, 401), ("/nothing", "user", 404)):
        if role or not service.anonymous_read:
            service.ask("GET", f"/api/v1{path}", role=role).has_status(status).header("X-API-Version", "v1")


@VERSIONING.row("probes and /index carry no X-API-Version")
def _unversioned(service: Service) -> None:
    for path in ("/healthz", "/readyz", "/index/absent-one"):
        service.ask("GET", path).lacks("X-API-Version")


def _leads_to_v1(answer: Answer, rest: str | None) -> None:
    location = answer.has_status(308).header("Location")
    target = f"/api/v1/{rest if rest is not None else 'skills/'}"
    holds = location.endswith(target) if rest is not None else target in location and location.endswith("?x=1")
    answer.expect(holds, f"Location {target}", location)
    answer.expect(not answer.response.content, "an empty body", answer.response.text)
