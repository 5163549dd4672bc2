"""How request bodies are read."""

import json

from registry.conformance.rows import Section
from registry.conformance.service import Service

BODIES = Section("Request bodies")
_JSON = {"Content-Type": "application/json"}

_NOT_JSON = (
    b"{", b"null", b"[]", b"\xef\xbb\xbf{}", b'{"query": "a"} junk', b'"text"', b"5", b'{"query": NaN}',
    b'{"query": "\xff"}', b'{"query": "\\ud800"}', b'{"query": "a", "query": "b"}', b'{"query": "\\u0000"}',
    b'{"\\ud800": 1, "query": "a"}',
)  # fmt: skip
_NUMBERS = ("-1", "0", "1.0", "1.5", "1e3", '"5"', "true", "null", str(2**63), str(2**70), "9" * 5000, "[]", "{}")


@BODIES.row("a body that is not strict JSON is 400 with details", role="user", decided=True)
def _not_json(service: Service) -> None:
    for body in _NOT_JSON:
        service.ask("POST", f"{service.api}/search", role="user", content=body, headers=_JSON).faults()


@BODIES.row("a body nested 100,000 levels deep is 400", role="user", decided=True)
def _deep(service: Service) -> None:
    for body in (b"[" * 100_000, b'{"a":' * 100_000, b'{"query": ' + b"[" * 50_000 + b"]" * 50_000 + b"}"):
        service.ask("POST", f"{service.api}/search", role="user", content=body, headers=_JSON).faults()


@BODIES.row("a body that is not declared as JSON is 415", role="user", decided=True)
def _not_declared(service: Service) -> None:
    body = json.dumps({"query": "anything"}).encode()
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None):
        headers = {"Content-Type": kind} if kind else {}
        answer = service.ask("POST", f"{service.api}/search", role="user", content=body, headers=headers)
        answer.error(415, "UNSUPPORTED_MEDIA_TYPE")


@BODIES.row("a compressed body is refused or bounded, never a server error", role="user", decided=True)
def _compressed(service: Service) -> None:
    headers = {**_JSON, "Content-Encoding": "gzip"}
    service.ask("POST", f"{service.api}/search", role="user", content=b"\x1f\x8b\x08\0\0\0", headers=headers).survives()


@BODIES.row("a body above 1 MiB is 413", role="user", decided=True)
def _too_large(service: Service) -> None:
    body = json.dumps({"query": "x" * (1 << 20)}).encode()
    answer = service.ask("POST", f"{service.api}/search", role="user", content=body, headers=_JSON)
    answer.error(413, "PAYLOAD_TOO_LARGE")


@BODIES.row("numbers are plain integers: nothing else counts as one", role="user", decided=True)
def _numbers(service: Service) -> None:
    for number in _NUMBERS:
        body = f'{{"query": "anything", "limit": {number}}}'.encode()
        answer = service.ask("POST", f"{service.api}/search", role="user", content=body, headers=_JSON)
        answer.expect(answer.faults() == ["limit"], f"a fault of limit {number[:20]}", answer.response.text)


@BODIES.row("unknown keys are ignored", role="user", decided=True)
def _unknown_keys(service: Service) -> None:
    service.search(query="anything", success=False, another={"a": [1]}).data()


@BODIES.row("every fault of a body is told at once", role="user", decided=True)
def _every_fault(service: Service) -> None:
    answer = service.search(query="", limit=0, offset=-1, mode="best")
    seen = sorted(answer.faults())
    answer.expect(seen == ["limit", "mode", "offset", "query"], "faults of limit, mode, offset and query", seen)
