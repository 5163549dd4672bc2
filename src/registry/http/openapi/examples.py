"""Example answers: made of the schema and of one example a property, so that they cannot differ from the schema."""

from collections.abc import Mapping
from typing import Any

_DEPTH = 8


class Examples:
    """Makes examples of the schemas of a document.

    Args:
        schemas: The named schemas.
        values: An example by property, `name`, or by property of a schema, `Schema.name`.
        left_out: Properties, `Schema.name`, that an example does not have, or as null if they are required.
    """

    def __init__(
        self, schemas: Mapping[str, Mapping[str, Any]], values: Mapping[str, Any], left_out: frozenset[str]
    ) -> None:
        self._schemas = schemas
        self._values = values
        self._left_out = left_out

    def of(self, schema: Mapping[str, Any]) -> Any:
        """Return an example of a schema."""
        return self._of(schema, "", "", 0)

    def _of(self, schema: Mapping[str, Any], owner: str, name: str, depth: int) -> Any:
        value = self._values.get(f"{owner}.{name}")
        if value is not None or f"{owner}.{name}" in self._left_out:
            return value
        if "$ref" in schema:
            name_of_schema = schema["$ref"].rpartition("/")[2]
            return self._object(self._schemas[name_of_schema], name_of_schema, depth + 1)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            example = self._values.get(name)
            return example if example in schema["enum"] else schema["enum"][0]
        if variants := [*schema.get("oneOf", ()), *schema.get("anyOf", ())]:
            return self._of(next(variant for variant in variants if variant.get("type") != "null"), owner, name, depth)
        return self._plain(schema, owner, name, depth)

    def _plain(self, schema: Mapping[str, Any], owner: str, name: str, depth: int) -> Any:
        kind = schema.get("type")
        if name in self._values and "$ref" not in schema.get("items", {}):
            return self._values[name]
        if kind == "array":
            return [self._of(schema.get("items", {}), owner, f"{name}[]", depth)] if depth < _DEPTH else []
        if kind == "object":
            return self._object(schema, owner, depth + 1) if "properties" in schema else {}
        return _SIMPLE.get(str(kind), "text")

    def _object(self, schema: Mapping[str, Any], owner: str, depth: int) -> dict[str, Any]:
        required = schema.get("required", ())
        return {
            name: self._of(value, owner, name, depth)
            for name, value in schema.get("properties", {}).items()
            if name in required or (depth < _DEPTH and f"{owner}.{name}" not in self._left_out)
        }


_SIMPLE: Mapping[str, Any] = {"boolean": True, "integer": 1, "number": 0.5, "null": None}
