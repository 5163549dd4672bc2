"""Every place of every route that takes text, as the application itself lists them, and requests that fill one."""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import quote

from litestar import Litestar
from litestar.routes import HTTPRoute

_DEPTH = 6
_SAMPLES = {
    "id": "cost-one", "skill_id": "cost-one", "name": "Cost one", "description": "What a text costs.",
    "version": "1.0.0", "query": "forms", "prompt": "forms", "role": "user", "url": "https://127.0.0.1/a.git",
    "source_url": "https://127.0.0.1/a.zip", "source_type": "zip", "source_name": "local", "source": "local",
    "skill": "cost-one", "path": "skills", "username": "ann", "password": "a long password", "type": "git",
}  # fmt: skip
_IN_PATH = {"skill_scope": "acme", "skill_name": "whittle", "version": "1.0.0", "path": "SKILL.md", "file": "1.0.0.zip"}
HEADERS = (
    *("Accept", "Accept-Encoding", "Authorization", "Content-Type", "Cookie", "Forwarded", "Host", "Idempotency-Key"),
    *("If-Match", "If-Modified-Since", "If-None-Match", "Origin", "Range", "Referer", "Sec-Fetch-Site", "User-Agent"),
    *("X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Request-ID", "x-api-key", "Mcp-Session-Id"),
)


class Sent(NamedTuple):
    """One request."""

    method: str
    target: str
    headers: Mapping[str, bytes]
    body: bytes | None


class Field(NamedTuple):
    """A place that takes text. `longest` is what a rule allows, in characters, None for no rule of its own."""

    method: str
    path: str
    place: str
    name: str
    longest: int | None
    request: Callable[[str], Sent]

    @property
    def title(self) -> str:
        """The route and the place, for people."""
        return f"{self.method} {self.path} {self.place} {self.name}"


def fields_of(app: Litestar) -> list[Field]:
    """Return the fields of every handler of an application, of one path where a handler has several."""
    schema = app.openapi_schema.to_schema()
    found: list[Field] = []
    seen: set[Any] = set()
    for route in sorted(
        (one for one in app.routes if isinstance(one, HTTPRoute)), key=lambda one: len(one.path_format)
    ):
        for handler in route.route_handlers:
            for method in sorted(handler.http_methods - {"HEAD", "OPTIONS"}):
                if (handler.fn, method) not in seen:
                    seen.add((handler.fn, method))
                    operation = schema["paths"].get(route.path_format, {}).get(method.lower(), {})
                    found.extend(_fields(method, route.path_format, operation, schema["components"]["schemas"]))
    return found


def _fields(method: str, path: str, operation: Mapping[str, Any], schemas: Mapping[str, Any]) -> Iterator[Field]:
    content = (operation.get("requestBody") or {}).get("content", {}).get("application/json", {}).get("schema")
    body = _sample(content, "", schemas) if content else None
    required = {
        one["name"]: "forms" for one in operation.get("parameters", ()) if one["in"] == "query" and one.get("required")
    }
    for part in (one for one in path.split("/") if one.startswith("{")):
        yield Field(method, path, "path", part[1:-1], None, _in_path(method, path, part, body, required))
    for one in operation.get("parameters", ()):
        if one["in"] == "query":
            longest = one.get("schema", {}).get("maxLength")
            yield Field(
                method, path, "query", one["name"], longest, _in_query(method, path, one["name"], body, required)
            )
    if method != "GET":
        yield Field(method, path, "body", "", None, _raw_body(method, path))
    for name, longest, make in _leaves(content, "", schemas, 0) if content else ():
        yield Field(method, path, "body", name, longest, _in_body(method, path, make))


def in_headers(method: str, path: str) -> Iterator[Field]:
    """Yield the headers of a route that are read."""
    for name in HEADERS:
        yield Field(method, path, "header", name, None, _in_header(method, path, name))


def filled(path: str, values: Mapping[str, str] | None = None) -> str:
    """Return a path with a sample for each parameter, or the given, which are quoted already."""
    known = {**_IN_PATH, **(values or {})}
    parts = (known.get(one[1:-1], "cost-one") if one.startswith("{") else one for one in path.split("/"))
    return "/".join(parts)


def _in_path(method: str, path: str, part: str, body: Any, query: Mapping[str, str]) -> Callable[[str], Sent]:
    return lambda text: _sent(method, filled(path, {part[1:-1]: quote(text, safe="")}), body, query)


def _in_query(method: str, path: str, name: str, body: Any, query: Mapping[str, str]) -> Callable[[str], Sent]:
    return lambda text: _sent(method, filled(path), body, {**query, name: text})


def _in_body(method: str, path: str, make: Callable[[str], Any]) -> Callable[[str], Sent]:
    return lambda text: _sent(method, filled(path), make(text))


def _raw_body(method: str, path: str) -> Callable[[str], Sent]:
    kind = b"application/json"
    return lambda text: Sent(method, filled(path), {"Content-Type": kind}, text.encode("utf-8", "replace"))


def _in_header(method: str, path: str, name: str) -> Callable[[str], Sent]:
    def value(text: str) -> bytes:
        return "".join(one if one.isprintable() else " " for one in text).strip().encode() or b"a"

    return lambda text: Sent(method, filled(path), {name: value(text)}, None)


def _sent(method: str, path: str, body: Any, query: Mapping[str, str] | None = None) -> Sent:
    pairs = "&".join(f"{name}={quote(value, safe='')}" for name, value in (query or {}).items())
    target = f"{path}?{pairs}" if pairs else path
    if body is None:
        return Sent(method, target, {}, None)
    return Sent(method, target, {"Content-Type": b"application/json"}, json.dumps(body, ensure_ascii=False).encode())


def _within(around: Mapping[str, Any], key: str, make: Callable[[str], Any], text: str) -> dict[str, Any]:
    return {**around, key: make(text)}


def _listed(make: Callable[[str], Any], text: str) -> list[Any]:
    return [make(text)]


def _leaves(
    schema: Mapping[str, Any], name: str, schemas: Mapping[str, Any], depth: int
) -> Iterator[tuple[str, int | None, Callable[[str], Any]]]:
    """Yield the texts of a body: name, longest by rule, and what makes a body of a text."""
    schema = _resolved(schema, schemas)
    if depth > _DEPTH:
        return
    for variant in (*schema.get("oneOf", ()), *schema.get("anyOf", ())):
        longest = schema.get("maxLength")
        for inner, limit, make in _leaves(variant, name, schemas, depth + 1):
            yield inner, limit or longest, make
    for key, value in schema.get("properties", {}).items():
        around = _sample(schema, "", schemas)
        for inner, limit, make in _leaves(value, f"{name}.{key}".lstrip("."), schemas, depth + 1):
            yield inner, limit, partial(_within, around, key, make)
    kinds = schema.get("type", ())
    if kinds == "string" or "string" in kinds:
        yield name, schema.get("maxLength"), lambda text: text
    if kinds == "array" or "array" in kinds:
        yield f"{name}[] many", None, lambda text: [text[at : at + 3] for at in range(0, len(text), 3)]
        for inner, limit, make in _leaves(schema.get("items", {}), f"{name}[]", schemas, depth + 1):
            yield inner, limit, partial(_listed, make)
    if isinstance(schema.get("additionalProperties"), Mapping):
        yield f"{name}{{}} keys", None, lambda text: {text: "a"}


def _resolved(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in schema:
        schema = schemas[schema["$ref"].rpartition("/")[2]]
    return schema


def _sample(schema: Mapping[str, Any], name: str, schemas: Mapping[str, Any]) -> Any:
    """Return a small value that a schema allows, as far as its name and its kind tell."""
    schema = _resolved(schema, schemas)
    if "const" in schema or "enum" in schema:
        return schema.get("const", (schema.get("enum") or [None])[0])
    if "properties" in schema:
        required = schema.get("required", ())
        needed = [
            key for key in schema["properties"] if key in required or (key in ("id", "name", "description", "version"))
        ]
        return {key: _sample(schema["properties"][key], key, schemas) for key in needed}
    for variant in (*schema.get("oneOf", ()), *schema.get("anyOf", ())):
        return _SAMPLES.get(name) or _sample(variant, name, schemas)
    kinds = schema.get("type", "string")
    kind = kinds if isinstance(kinds, str) else next((one for one in kinds if one != "null"), "string")
    simple: dict[str, Any] = {
        "integer": schema.get("minimum", 1),
        "number": 0,
        "boolean": False,
        "array": [],
        "object": {},
    }
    return simple.get(kind, _SAMPLES.get(name, "sample"))
