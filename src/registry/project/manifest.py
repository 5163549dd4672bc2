"""The content of a `skill-project.toml`: the project's metadata, dependencies and settings.

    [metadata]
    id = "shop"

    [dependencies]
    pdf-forms = "1.2.0"
    "acme/sql-review" = {origin = {type = "git", url = "https://example.org/sql.git"}, groups = ["dev"]}

    [tool.skill-registry]
    skills_directory = "skills"
    agents = ["claude", "codex"]

A dependency without a version accepts any version, and one without an origin any source. Other content of the file is
neither checked nor lost.
"""

from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, field

from registry.domain.models import Groups, SkillId
from registry.domain.origins import Origin, SourceOrigin
from registry.domain.validation import find_errors
from registry.domain.version_requirement import VersionRequirement
from registry.errors import FieldError, validation_error
from registry.parsing.toml_text import MergeConflict, load_toml

MAX_BYTES = 256 * 1024

_SHOWN_CHARACTERS = 200

SourceKind = Literal["git", "local", "http", "zip", "source", "registry"]


PolicyException = Annotated[
    str,
    Meta(
        pattern=r"^(?:(?:0|[1-9][0-9]{0,8})\.(?:0|[1-9][0-9]{0,8})\.(?:0|[1-9][0-9]{0,8})"
        r"|[0-9a-f]{40}|[0-9a-f]{64}|sha256:[0-9a-f]{64})$(?!\n)",
        extra={"rule": "must be a version such as 1.4.0, a whole commit, or sha256: and the digest of the files"},
    ),
]

_Text = Annotated[str, Meta(extra={"multiline": True})]


class ProjectMetadata(msgspec.Struct, kw_only=True):
    """The metadata of the project: free text."""

    id: _Text | None = None
    version: _Text | None = None
    description: _Text | None = None
    author: _Text | None = None
    name: _Text | None = None


class Dependency(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """One skill the project depends on. `version` and `editable` of the origin apply if they are not set here."""

    version: VersionRequirement | None = None
    origin: Origin | None = None
    groups: Groups = field(default_factory=list)
    editable: bool = False

    def ordered(self, skill_id: str) -> Origin:
        """Return the origin of the skill with this id, with `version` and `editable` where the origin has them."""
        origin = self.origin or SourceOrigin(skill=skill_id)
        return _with(origin, version=self.version, editable=self.editable)

    @property
    def source_type(self) -> SourceKind:
        """The type of the origin; `source` without an origin, since any source may list the skill."""
        tag: SourceKind = "source" if self.origin is None else self.origin.__struct_config__.tag  # type: ignore[assignment]
        return tag


class ToolSettings(msgspec.Struct, kw_only=True):
    """The project's settings; `sources` holds the table of each source as written.

    `exceptions` has what may be installed whatever `install.max_risk` and `install.min_age` say: by the id of a skill
    in its registry one version, by the name of another skill the commit of its repository or the digest of its files.
    `agents` are those whose folders get every skill, as links with `agent_links`.
    """

    skills_directory: _Text | None = None
    sources: list[dict[str, Any]] = field(default_factory=list)
    exceptions: dict[str, PolicyException] = field(default_factory=dict)
    agents: Annotated[list[_Text], Meta(max_length=50)] = field(default_factory=list)
    agent_links: bool = False


class Manifest(msgspec.Struct, kw_only=True):
    """The parsed content of a skill-project.toml."""

    metadata: ProjectMetadata
    dependencies: dict[str, Dependency]
    tool: ToolSettings

    def name_of(self, names: Iterable[str]) -> str | None:
        """Return the first of these ids of one skill that is a dependency, None if there is none."""
        return next((name for name in names if name in self.dependencies), None)


class _Tools(msgspec.Struct):
    skill_registry: ToolSettings = field(default_factory=ToolSettings, name="skill-registry")


class _Document(msgspec.Struct):
    """The structure of the file, in which a dependency may be only a version."""

    metadata: ProjectMetadata = field(default_factory=ProjectMetadata)
    dependencies: dict[str, VersionRequirement | Dependency] = field(default_factory=dict)
    tool: _Tools = field(default_factory=_Tools)


def parse_manifest(data: bytes, name: str) -> Manifest:
    """Return the content of the file `name`.

    Raises VALIDATION_ERROR, with the line if it is not TOML, or with every fault.
    """
    table = parse_toml(data, name)
    if faults := [*find_errors(table, _Document), *_bad_ids(table)]:
        first = f"{name}: {faults[0].field}: {faults[0].message}"
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        raise validation_error(*faults, message=first + more)
    document = msgspec.convert(table, _Document)
    dependencies = {key: _normalized(value) for key, value in document.dependencies.items()}
    return Manifest(metadata=document.metadata, dependencies=dependencies, tool=document.tool.skill_registry)


def parse_toml(data: bytes, name: str, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """Return the tables of a file. Raises VALIDATION_ERROR with the line if it is not TOML."""
    try:
        if len(data) > MAX_BYTES:
            raise ValueError(f"is larger than {MAX_BYTES:,} bytes")
        return load_toml(data, parse_float)
    except MergeConflict as error:
        raise validation_error(FieldError(name, f"{error}: edit it, so that it names what you want")) from None
    except ValueError as error:
        raise validation_error(FieldError(name, str(error)[-_SHOWN_CHARACTERS:])) from None


def _bad_ids(table: dict[str, Any]) -> list[FieldError]:
    dependencies = table.get("dependencies")
    keys = dependencies if isinstance(dependencies, dict) else {}
    return [fault for key in keys for fault in find_errors(key, SkillId, f"dependencies.{key[:_SHOWN_CHARACTERS]}")]


def _normalized(value: str | Dependency) -> Dependency:
    """Return an entry in its long form, with `version` and `editable` moved out of the origin."""
    if isinstance(value, str):
        return Dependency(version=value)
    return Dependency(
        version=value.version or getattr(value.origin, "version", None),
        origin=without_version(value.origin),
        groups=value.groups,
        editable=value.editable or getattr(value.origin, "editable", False),
    )


def without_version(origin: Origin | None) -> Origin | None:
    """Return an origin without `version` and `editable`, which an entry has beside it."""
    return None if origin is None else _with(origin, version=None, editable=False)


def _with(origin: Origin, **fields: Any) -> Origin:
    """Return an origin with those of the fields that its kind has."""
    members = {name: value for name, value in fields.items() if name in origin.__struct_fields__}
    return msgspec.structs.replace(origin, **members)
