"""Completes the OpenAPI document that the framework makes: once a process, when it is first requested.

`texts.toml` has what no type says: what each property and parameter means, and examples. A test holds that nothing is
without a description and that no text there is left over.
"""

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec
from litestar import Litestar, Request
from litestar.handlers import HTTPRouteHandler
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.routes import HTTPRoute

from registry.http.openapi.examples import Examples
from registry.http.openapi.operations import errors, security, summary
from registry.http.request_state import request_state
from search.lru_cache import LruCache

_METHODS = ("get", "post", "put", "delete", "patch")
_REFERENCE = "#/components/schemas/"
_ENVELOPE = frozenset({"data", "pagination", "success"})
_BASE_PATHS = 4  # of which the document is kept
_BINARY = frozenset({"application/zip", "*/*"})


class DocumentPlugin(JsonRenderPlugin):
    """Serves the completed document at `/schema/openapi.json`."""

    def __init__(self) -> None:
        super().__init__()
        self._document: dict[str, Any] | None = None
        self._encoded: LruCache[str, bytes] = LruCache(_BASE_PATHS)

    def render(self, request: Request[Any, Any, Any], openapi_schema: dict[str, Any]) -> bytes:
        """Return the document as JSON. Its server is the path below which the caller reaches this one."""
        base_path = request_state(request.scope).base_path
        encoded = self._encoded.get(base_path)
        if encoded is None:
            if self._document is None:
                self._document = completed(request.app, openapi_schema)
            encoded = msgspec.json.encode({**self._document, "servers": [{"url": base_path or "/"}]})
            self._encoded.put(base_path, encoded)
        return encoded


@cache
def texts() -> Mapping[str, Any]:
    """Return the texts of the document."""
    return tomllib.loads((files(__package__) / "texts.toml").read_text("utf-8"))


def completed(app: Litestar, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document of an application, completed. `schema` is that of the framework and is not changed."""
    document: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(schema))
    settings = app.state.services.settings
    named = _named(document)
    schemas = named["components"]["schemas"]
    for name, component in schemas.items():
        _describe_properties(name, component)
    examples = Examples(schemas, texts()["examples"], frozenset(texts()["left_out"]["properties"]))
    for path, method, operation, handler in _operations(app, named):
        operation["summary"] = summary(handler)
        operation["security"] = security(handler, anonymous_read=settings.auth.anonymous_read)
        _describe_parameters(path, operation)
        _give_examples(operation, handler.handler_name, examples)
        _keep_errors(operation, errors(handler, method, operation))
    used = {tag for _, _, operation, _ in _operations(app, named) for tag in operation["tags"]}
    named["paths"] = dict(sorted(named["paths"].items()))
    named["tags"] = [{"name": name, "description": text} for name, text in texts()["tags"].items() if name in used]
    if settings.profile == "registry":
        named["components"]["securitySchemes"] = texts()["security_schemes"]
    return named


def _named(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document with its schemas under the names that are their titles."""
    schemas = document["components"]["schemas"]
    names = {old: schema["title"] for old, schema in schemas.items()}
    document["components"]["schemas"] = dict(sorted((names[old], schema) for old, schema in schemas.items()))
    for value in _walk(document):
        reference = value.get("$ref")
        if isinstance(reference, str):
            value["$ref"] = f"{_REFERENCE}{names[reference.removeprefix(_REFERENCE)]}"
        if value.get("type") == "integer" and "const" in value:
            value["enum"] = [value.pop("const")]  # the same, and openapi-python-client 0.29 generates valid code for it
    return document


def _walk(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from _walk(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _walk(inner)


def property_text(schema: str, name: str) -> str | None:
    """Return what a property means, None if `texts.toml` does not say it."""
    special: Mapping[str, str] = texts()["schemas"].get(schema, {})
    text: str | None = special.get(name) or texts()["properties"].get(name)
    return text


def _describe_properties(name: str, schema: dict[str, Any]) -> None:
    for key, value in schema.get("properties", {}).items():
        if text := property_text(name, key):
            value["description"] = text


def _operations(
    app: Litestar, document: Mapping[str, Any]
) -> Iterator[tuple[str, str, dict[str, Any], HTTPRouteHandler]]:
    """Yield the path and the method of each operation, what the document says of it, and its handler."""
    for route in app.routes:
        if isinstance(route, HTTPRoute) and (item := document["paths"].get(route.path_format or "/")):
            for method, (handler, _) in route.route_handler_map.items():
                if method.lower() in _METHODS and method.lower() in item:
                    yield route.path_format, str(method), item[method.lower()], handler


def _describe_parameters(path: str, operation: dict[str, Any]) -> None:
    """Describe the parameters, in the order of the path and then by name: the framework's differs between processes."""

    def place(parameter: Mapping[str, Any]) -> tuple[int, str]:
        at = path.find(f"{{{parameter['name']}}}")
        return (at if at >= 0 else len(path), parameter["name"])

    if "parameters" in operation:
        operation["parameters"].sort(key=place)
    for parameter in operation.get("parameters", ()):
        entry = texts()["parameters"].get(parameter["name"], {})
        if "description" not in parameter:
            parameter["description"] = entry.get("description", "")
        parameter["schema"].pop("description", None)
        if parameter["in"] == "path":
            parameter["schema"] = {"type": "string"}
        if "example" in entry:
            parameter["example"] = entry["example"]


def _give_examples(operation: dict[str, Any], name: str, examples: Examples) -> None:
    values = texts()["operations"].get(name, {})
    for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
        _mark_binary(media_type, content)
        if media_type != "multipart/form-data" and "body" in values:
            content["example"] = values["body"]
    for status, answer in operation["responses"].items():
        for media_type, content in answer.get("content", {}).items() if status < "400" else ():
            _mark_binary(media_type, content)
            if "answer" in values:
                content["example"] = values["answer"]
            elif media_type == "application/json" and content.get("schema"):
                content["example"] = _unpaged(examples.of(content["schema"]), operation)


def _unpaged(example: Any, operation: Mapping[str, Any]) -> Any:
    """Return an example without `pagination` if the operation has no pages."""
    is_paged = any(parameter["name"] == "limit" for parameter in operation.get("parameters") or ())
    if isinstance(example, dict) and not is_paged and example.keys() == _ENVELOPE:
        del example["pagination"]
    return example


def _mark_binary(media_type: str, content: dict[str, Any]) -> None:
    if media_type in _BINARY:
        content["schema"] = {"type": "string", "format": "binary"}


def _keep_errors(operation: dict[str, Any], statuses: frozenset[int]) -> None:
    answers = operation["responses"]
    operation["responses"] = {
        status: answer for status, answer in answers.items() if status < "400" or int(status) in statuses
    }
