"""What a service answered, and what a row expects of it. Whatever differs is a `Mismatch` that says both."""

import json
import re
from collections.abc import Mapping
from typing import Any

import httpx

from registry.conformance.shapes import KINDS, is_kind

_INSIDE = re.compile(r'Traceback|site-packages|File "|\.py\b|\bselect .* from\b', re.IGNORECASE)
_ENVELOPE = {"success", "data", "pagination"}
_MAX_SHOWN = 160


class Mismatch(Exception):
    """An answer is not what the row expects.

    Args:
        expected: What the row expects, in words.
        seen: What the service answered instead.
    """

    def __init__(self, expected: str, seen: object) -> None:
        super().__init__(f"expected {expected}, seen {seen}")
        self.expected = expected
        self.seen = shown(seen)


class NotApplicable(Exception):
    """A row cannot be run against this service; the text says why."""


def shown(value: object) -> str:
    """Return a value on one line, cut to a readable length."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    line = " ".join(text.split()) or "nothing"
    return line if len(line) <= _MAX_SHOWN else f"{line[: _MAX_SHOWN - 1]}…"


def expect(holds: object, expected: str, seen: object) -> None:
    """Raise Mismatch unless something holds."""
    if not holds:
        raise Mismatch(expected, seen)


class Answer:
    """The response to one request.

    Every method raises Mismatch; the name of the request is part of what was expected.
    """

    def __init__(self, response: httpx.Response, request: str) -> None:
        self.response = response
        self.request = request
        self.status = response.status_code
        self.headers = response.headers

    def has_status(self, *allowed: int) -> "Answer":
        """Expect one of these status codes."""
        statuses = " or ".join(map(str, allowed))
        self.expect(self.status in allowed, f"status {statuses}", f"status {self.status} {shown(self.response.text)}")
        return self

    def expect(self, holds: object, expected: str, seen: object) -> None:
        """Expect that something holds of this answer."""
        expect(holds, f"{expected} of {self.request}", seen)

    def header(self, name: str, value: str | None = None) -> str:
        """Return a header that must be there, perhaps with a value."""
        seen = self.headers.get(name)
        self.expect(seen is not None, f"header {name}", "no such header")
        self.expect(value is None or seen == value, f"header {name}: {value}", f"{name}: {seen}")
        return str(seen)

    def lacks(self, name: str) -> None:
        """Expect that a header is absent."""
        self.expect(name not in self.headers, f"no header {name}", f"{name}: {self.headers.get(name)}")

    def json(self) -> Any:
        """Return the body of an answer that declares itself as JSON."""
        kind = self.headers.get("content-type", "none")
        self.expect(kind.partition(";")[0].strip() == "application/json", "content type application/json", kind)
        try:
            return self.response.json()
        except ValueError:
            raise Mismatch(f"a JSON body of {self.request}", shown(self.response.text)) from None

    def envelope(self, *statuses: int) -> dict[str, Any]:
        """Return the envelope of a success, 200 unless other codes are named."""
        self.has_status(*(statuses or (200,)))
        body = self.json()
        self.expect(isinstance(body, dict), "an envelope, a JSON object", body)
        self.expect(body.get("success") is True, "`success` true", body.get("success", "no `success`"))
        self.expect("data" in body, "`data`", f"only {sorted(body)}")
        is_twin = " /v1/" in self.request  # the SDKs that /v1/skills serves read fields beside `data`
        self.expect(is_twin or body.keys() <= _ENVELOPE, "only `success`, `data` and `pagination`", sorted(body))
        return dict(body)

    def data(self, *statuses: int) -> Any:
        """Return the `data` of a success."""
        return self.envelope(*statuses)["data"]

    def object(self, shape: Mapping[str, str], *statuses: int, exactly: bool = False) -> dict[str, Any]:
        """Return `data`, an object with these fields and, if wanted, no others."""
        return self.fields(self.data(*statuses), shape, "data", exactly=exactly)

    def items(self, *statuses: int) -> list[Any]:
        """Return `data`, an array."""
        data = self.data(*statuses)
        self.expect(isinstance(data, list), "an array as `data`", data)
        return list(data)

    def page(self) -> tuple[list[Any], dict[str, int]]:
        """Return `data`, an array, and `pagination`."""
        body = self.envelope()
        self.expect(isinstance(body["data"], list), "an array as `data`", body["data"])
        self.expect("pagination" in body, "`pagination`", f"only {sorted(body)}")
        shape = {"total": "integer", "limit": "integer", "offset": "integer"}
        pagination = self.fields(body["pagination"], shape, "pagination", exactly=True)
        return body["data"], pagination

    def fields(
        self, value: Any, shape: Mapping[str, str], name: str = "data", *, exactly: bool = False
    ) -> dict[str, Any]:
        """Return an object of the body that has the fields of a shape (see `shapes`), each of its kind."""
        self.expect(isinstance(value, dict), f"an object as `{name}`", value)
        for field, kind in shape.items():
            self.expect(field in value, f"`{name}.{field}`", f"only {sorted(value)}")
            words = f"`{name}.{field}` to be {KINDS[kind]}"
            self.expect(is_kind(value[field], kind), words, value[field])
        extra = sorted(value.keys() - shape.keys())
        self.expect(not (exactly and extra), f"no other fields in `{name}`", extra)
        return dict(value)

    def error(self, status: int, *codes: str) -> dict[str, Any]:
        """Return the error of a failure with this status and one of these codes."""
        self.has_status(status)
        return self.any_error(*codes)

    def any_error(self, *codes: str) -> dict[str, Any]:
        """Return the error of a failure, whatever its status."""
        body = self.json()
        self.expect(isinstance(body, dict) and body.get("success") is False, "`success` false", body)
        error = self.fields(body.get("error"), {"code": "text", "message": "text"}, "error")
        self.expect("data" not in body, "no `data` in an error", sorted(body))
        self.expect(not codes or error["code"] in codes, f"error code {' or '.join(codes)}", error["code"])
        self.expect(not _INSIDE.search(json.dumps(body)), "an error that shows nothing of the inside", error)
        details = error.get("details")
        if isinstance(details, list):
            for detail in details:
                self.fields(detail, {"field": "text", "message": "text"}, "error.details[]")
        return error

    def faults(self, status: int = 400) -> list[str]:
        """Return the fields that the details of a VALIDATION_ERROR name."""
        error = self.error(status, "VALIDATION_ERROR")
        details = error.get("details")
        self.expect(isinstance(details, list) and details, "`error.details`, pairs of field and message", details)
        return [str(detail["field"]) for detail in details]  # type: ignore[union-attr]

    def survives(self) -> "Answer":
        """Expect no failure of the server: below 500, and an error in its envelope."""
        self.expect(self.status < 500, "no server error", f"status {self.status} {shown(self.response.text)}")
        if self.status >= 400:
            self.any_error()
        return self
