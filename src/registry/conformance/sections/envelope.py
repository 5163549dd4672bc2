"""The envelope of answers and errors."""

from registry.conformance.answer import expect
from registry.conformance.rows import Section
from registry.conformance.service import Service

ENVELOPE = Section("Response envelope and errors")
_ABSENT = "/skills/conformance-absent"


@ENVELOPE.row("a list is `success`, `data` and `pagination`", role="user", decided=True)
def _list(service: Service) -> None:
    service.get("/skills").page()


@ENVELOPE.row("a list of the code v1 API is `success`, `data` and `pagination`", profile="registry", role="user")
def _code_list(service: Service) -> None:
    service.ask("GET", "/api/code/v1/skills").page()


@ENVELOPE.row("an absent skill is SKILL_NOT_FOUND, and the message names it", role="user")
def _absent_skill(service: Service) -> None:
    prefixes = (service.api,) if service.profile == "local" else (service.api, "/api/code/v1", "/v1")
    for prefix in prefixes:
        answer = service.ask("GET", f"{prefix}{_ABSENT}")
        message = answer.any_error("SKILL_NOT_FOUND")["message"]
        answer.expect("conformance-absent" in message, "a message that names the skill", message)


@ENVELOPE.row("an absent skill is 404", role="user", decided=True)
def _absent_status(service: Service) -> None:
    service.get(_ABSENT).error(404, "SKILL_NOT_FOUND")


@ENVELOPE.row("an unknown path is 404 NOT_FOUND in the envelope", decided=True)
def _unknown_path(service: Service) -> None:
    paths = ["/nothing", "/api/v1/nothing", "/api/v1/skills/a/b/c/d"]
    for path in paths + (
        ["/api/nothing", "/api/code/v1/nothing", "/auth/nothing"] if service.profile == "registry" else []
    ):
        service.ask("GET", path).error(404, "NOT_FOUND")


@ENVELOPE.row("a wrong method is 405 METHOD_NOT_ALLOWED, with Allow", decided=True)
def _wrong_method(service: Service) -> None:
    for method, path in (("DELETE", f"{service.api}/skills"), ("PATCH", f"{service.api}/skills"), ("POST", "/healthz")):
        answer = service.ask(method, path)
        answer.error(405, "METHOD_NOT_ALLOWED")
        answer.expect("GET" in answer.header("Allow"), "GET in Allow", answer.headers.get("Allow"))


@ENVELOPE.row("every answer has an X-Request-ID: the caller's, else a new one", decided=True)
def _request_id(service: Service) -> None:
    mine = service.ask("GET", "/healthz", headers={"X-Request-ID": "conformance-1"})
    mine.header("X-Request-ID", "conformance-1")
    first, second = (service.get("/status").header("X-Request-ID") for _ in range(2))
    expect(first != second, "a different X-Request-ID for each request", first)


@ENVELOPE.row("no origin is allowed by default", decided=True)
def _no_origin(service: Service) -> None:
    answer = service.get("/status", headers={"Origin": "https://conformance.example"})
    answer.lacks("Access-Control-Allow-Origin")


@ENVELOPE.row("a foreign Host is refused with 403", profile="local", loopback=True, decided=True)
def _foreign_host(service: Service) -> None:
    for host in ("conformance.example", "localhost.conformance.example", "127.0.0.1.conformance.example"):
        service.get("/skills", headers={"Host": host}).error(403, "FORBIDDEN")


@ENVELOPE.row(
    "a change for a page of another origin is refused with 403",
    profile="local",
    level="write",
    loopback=True,
    decided=True,
)
def _foreign_origin(service: Service) -> None:
    for headers in ({"Origin": "https://conformance.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}):
        body = service.skill()
        try:
            service.post("/skills", body, headers=headers).error(403, "FORBIDDEN")
        finally:
            service.remove(body["id"])


@ENVELOPE.row("an answer of 1 KiB and more is compressed, and a probe never is", role="user", decided=True)
def _compressed(service: Service) -> None:
    for path in ("/schema/openapi.json", f"{service.api}/skills?limit=100"):
        plain = service.ask("GET", path, headers={"Accept-Encoding": "identity"})
        if plain.status == 200 and len(plain.response.content) >= 1024:
            service.ask("GET", path, headers={"Accept-Encoding": "gzip"}).header("Content-Encoding", "gzip")
    service.ask("GET", "/healthz", headers={"Accept-Encoding": "gzip"}).lacks("Content-Encoding")
