"""The schemas of the OpenAPI document: their names and descriptions come from the types.

The framework names a schema by as much of its module as tells it from others of the profile, so a name would change
with the profile. Here a name depends on the type alone, and generated clients of both profiles have the same classes.
"""

from collections.abc import Mapping
from inspect import cleandoc
from types import MappingProxyType
from typing import Any, get_args, get_origin

import msgspec
from litestar._openapi.schema_generation import SchemaCreator
from litestar._openapi.schema_generation.plugins.struct import StructSchemaPlugin
from litestar.openapi.spec import Reference, Schema
from litestar.plugins import OpenAPISchemaPlugin
from litestar.typing import FieldDefinition

from registry.domain.models import Card
from registry.http.envelope import Ok

_PREFIXES: Mapping[str, str] = MappingProxyType(
    {
        "registry.protocols.ard": "Ard",
        "registry.protocols.clawhub": "ClawHub",
        "registry.protocols.tree": "Tree",
        "registry.protocols.v1_skills": "V1",
        "registry.protocols.well_known": "WellKnown",
        "registry.http.routes.code": "Code",
        "registry.services.skill_batches": "Batch",
    }
)
"""What the names of the types of a package begin with. Other protocols have types of the same name."""


def schema_name(annotation: Any) -> str:
    """Return the name of a type in the document, such as `Card`, `CardListResponse` or `ClawHubSkillList`."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Ok:
        return f"{schema_name(arguments[0])}Response"
    if origin is list:
        return f"{schema_name(arguments[0])}List"
    if origin is dict:
        return "Fields"
    if isinstance(origin, type) and issubclass(origin, msgspec.Struct):
        return f"{schema_name(arguments[0])}Page"
    if arguments:
        return "Or".join(schema_name(argument) for argument in arguments)
    module, name = annotation.__module__, annotation.__name__
    prefix = next((text for package, text in _PREFIXES.items() if module.startswith(package)), "")
    return str(name) if prefix in name else f"{prefix}{name}"


class StructSchemas(StructSchemaPlugin):
    """The schema of a struct: its title is the name in the document, its description the docstring."""

    def to_openapi_schema(self, field_definition: FieldDefinition, schema_creator: SchemaCreator) -> Schema:
        """Return the schema of a struct."""
        schema = super().to_openapi_schema(field_definition, schema_creator)
        annotation = field_definition.annotation
        schema.title = schema_name(annotation)
        schema.description = cleandoc((get_origin(annotation) or annotation).__doc__ or "")
        return schema


class CardSchemas(OpenAPISchemaPlugin):
    """The schema of JSON that is sent as it is stored: responses hold nothing but cards so."""

    def is_plugin_supported_field(self, field_definition: FieldDefinition) -> bool:
        """Return whether a field holds stored JSON."""
        return field_definition.annotation is msgspec.Raw

    def to_openapi_schema(self, field_definition: FieldDefinition, schema_creator: SchemaCreator) -> Any:
        """Return a reference to the schema of a card."""
        card: Reference | Schema = schema_creator.for_field_definition(FieldDefinition.from_annotation(Card))
        return card
