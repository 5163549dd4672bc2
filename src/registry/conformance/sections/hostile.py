"""Requests that no client should send: refused in the envelope, never a server error or a dropped connection."""

from registry.conformance.answer import expect
from registry.conformance.rows import Section
from registry.conformance.service import Service

HOSTILE = Section("Errors: hostile requests")
_IDS = ("%00", "..", "..%2F..%2Fetc%2Fpasswd", "%2e%2e", "a" * 3000, "%F0%9F%A6%89", "%FF", "a%0D%0Ab",
        "'%3B%20drop%20table%20skills", "%20", "a%5Cb", "-", "*", "%25", "con", "__proto__")  # fmt: skip
_FILES = (
    "..%2F..%2Fetc%2Fpasswd",
    "%2e%2e/%2e%2e/etc/passwd",
    "/etc/passwd",
    "%2Fetc%2Fpasswd",
    "a%5Cb",
    "x%00y",
    "%FF",
)


@HOSTILE.row("no id in a path is a server error", role="user")
def _ids(service: Service) -> None:
    for name in _IDS:
        for path in (f"{service.api}/skills/{name}", f"/index/{name}", f"{service.api}/skills/{name}/versions/{name}"):
            answer = service.ask("GET", path).survives()
            expect("root:" not in answer.response.text, "no file of the machine", answer.response.text)


@HOSTILE.row("no path leads to a file outside a skill", role="user", decided=True)
def _files(service: Service) -> None:
    sample = service.sample()
    for file in _FILES:
        answer = service.ask("GET", f"/api/v1/skills/{sample}/files/{file}").survives().has_status(400, 404)
        expect("root:" not in answer.response.text, "no file of the machine", answer.response.text)


@HOSTILE.row("characters that are no text are refused in every string of a body", role="user", decided=True)
def _strings(service: Service) -> None:
    for text in ("\\ud800", "\\u0000", "a\\u0000b"):
        body = f'{{"query": "{text}"}}'.encode()
        headers = {"Content-Type": "application/json"}
        service.ask("POST", f"{service.api}/search", role="user", content=body, headers=headers).faults()


@HOSTILE.row("a query string that is not UTF-8 is 400", role="user", decided=True)
def _query_bytes(service: Service) -> None:
    for query in ("limit=%FF", "enabled=%FF", "%FF=1"):
        service.get(f"/skills?{query}").survives().has_status(200, 400)
    service.ask("GET", "/api/v1/search?q=%FF").error(400, "VALIDATION_ERROR")


@HOSTILE.row("a URL of 9 KB is 414, and 101 headers are 431", decided=True)
def _too_long(service: Service) -> None:
    service.ask("GET", f"{service.api}/{'x' * 9000}").has_status(414, 400, 404).survives()
    service.ask("GET", "/healthz", headers={f"X-{n}": "1" for n in range(110)}).has_status(431, 400)
    service.ask("GET", "/healthz", headers={"X-Long": "x" * 17_000}).has_status(431, 400)


@HOSTILE.row("control characters in headers and ids do not come back in the answer's headers", decided=True)
def _headers(service: Service) -> None:
    answer = service.ask("GET", "/nothing%0d%0aX-Forged:%201").survives()
    answer.lacks("X-Forged")
    response = service.ask("GET", "/healthz", headers={"X-Request-ID": "a b;c" * 30})
    response.expect(
        response.header("X-Request-ID") != "a b;c" * 30, "a new X-Request-ID", response.headers.get("X-Request-ID")
    )


@HOSTILE.row("files of skills are never served as pages", level="write", role="manager", decided=True)
def _no_pages(service: Service) -> None:
    with service.created(content="<script>alert(1)</script>\n") as body:
        answer = service.ask("GET", f"/api/v1/skills/{body['id']}/files/SKILL.md")
        if answer.status == 404:
            return  # a record has no files
        kind = answer.has_status(200).header("Content-Type")
        answer.expect(not kind.startswith(("text/html", "image/svg")), "no content type of a page", kind)
        answer.header("X-Content-Type-Options", "nosniff")


@HOSTILE.row("a fault in a body changes nothing", level="write", role="manager")
def _nothing_changes(service: Service) -> None:
    with service.created() as body:
        path = f"{service.api}/skills/{body['id']}"
        before = service.ask("GET", path).data()
        service.ask("PUT", path, json={"author": "changed", "version": "x"}).faults()
        answer = service.ask("GET", path)
        answer.expect(answer.data() == before, "an unchanged skill", answer.response.text)
