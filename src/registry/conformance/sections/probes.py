"""Probes, status and pages."""

from registry.conformance.answer import expect
from registry.conformance.rows import Section
from registry.conformance.service import Service

PROBES = Section("Endpoints: probes, status and pages")


@PROBES.row("GET /healthz is 200 with `status` ok and `version`")
def _healthz(service: Service) -> None:
    answer = service.ask("GET", "/healthz", role=None).has_status(200)
    body = answer.fields(answer.json(), {"status": "text", "version": "text"}, "body")
    answer.expect(body["status"] == "ok", "`status` ok", body["status"])


@PROBES.row("GET /readyz is 200 while the service takes traffic")
def _readyz(service: Service) -> None:
    service.ask("GET", "/readyz", role=None).has_status(200)


@PROBES.row("probes answer for any Host", decided=True)
def _any_host(service: Service) -> None:
    for path in ("/healthz", "/readyz"):
        service.ask("GET", path, role=None, headers={"Host": "probe.example"}).has_status(200)


@PROBES.row("GET /status is public and says `status`, `version` and `profile`", decided=True)
def _status(service: Service) -> None:
    shape = {"status": "text", "version": "text", "profile": "text", "uptime_seconds": "number", "skills": "integer",
             "indexed": "integer", "pending": "integer", "drift": "integer", "embedding": "object",
             "generation": "integer", "writable": "boolean"}  # fmt: skip
    answer = service.get("/status", role=None)
    data = answer.object(shape)
    answer.expect(data["profile"] == service.profile, f"profile {service.profile}", data["profile"])


@PROBES.row("GET / and GET /dashboard serve the web UI")
def _pages(service: Service) -> None:
    for path in ("/", "/dashboard"):
        _is_page(service, path)


@PROBES.row("GET /registry serves the web UI of the registry", profile="registry", registry_mode=True)
def _registry_page(service: Service) -> None:
    _is_page(service, "/registry")


@PROBES.row("pages carry a content security policy, nosniff and no frames", decided=True)
def _page_headers(service: Service) -> None:
    answer = service.ask("GET", "/", role=None)
    policy = answer.header("Content-Security-Policy")
    answer.expect("unsafe-eval" not in policy, "a policy without unsafe-eval", policy)
    answer.expect("frame-ancestors 'none'" in policy, "frame-ancestors 'none'", policy)
    answer.header("X-Content-Type-Options", "nosniff")
    answer.header("Referrer-Policy")


@PROBES.row("HEAD is answered as GET without a body", decided=True)
def _head(service: Service) -> None:
    for path in ("/healthz", "/readyz", f"{service.api}/status", f"{service.api}/skills"):
        head, get = service.ask("HEAD", path), service.ask("GET", path)
        head.has_status(get.status)
        expect(not head.response.content, f"no body of HEAD {path}", head.response.text)
        head.header("Content-Type", get.headers.get("Content-Type"))


@PROBES.row("OPTIONS names the methods of a path in Allow", decided=True)
def _options(service: Service) -> None:
    answer = service.ask("OPTIONS", f"{service.api}/skills", role=None).has_status(200, 204)
    allowed = {method.strip() for method in answer.header("Allow").split(",")}
    answer.expect({"GET", "POST"} <= allowed, "Allow with GET and POST", sorted(allowed))


def _is_page(service: Service, path: str) -> None:
    answer = service.ask("GET", path, role=None).has_status(200)
    kind = answer.header("Content-Type")
    answer.expect(kind.startswith("text/html"), "content type text/html", kind)
