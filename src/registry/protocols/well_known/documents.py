"""The discovery document of agentskills.io, version 0.2, with what clients of version 0.1 read besides."""

import msgspec

from registry.domain.models import Skill
from registry.errors import RegistryError
from registry.parsing.frontmatter import read
from registry.protocols.agentskills import named_package
from registry.protocols.well_known.own_skill import OWN_ID, own_package
from registry.services.container import Services
from registry.services.skill_files import SkillPackage
from registry.skill_folder.tree import SKILL_FILE

SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"

_MAX_DESCRIPTION = 1024


class SkillEntry(msgspec.Struct, kw_only=True):
    """A skill. `url` is relative to the document, `digest` that of the zip there; `files` is for version 0.1."""

    name: str
    type: str = "archive"
    description: str
    url: str
    digest: str
    version: str
    files: list[str]


class DiscoveryDocument(msgspec.Struct, kw_only=True):
    """What a well-known index says."""

    schema: str = msgspec.field(default=SCHEMA, name="$schema")
    skills: list[SkillEntry]


def discoverable(services: Services, skill_id: str, base_url: str) -> SkillPackage:
    """Return the files of an enabled skill whose name is one of agentskills.io; `base_url` is that of this service.

    Raises SKILL_NOT_FOUND, NOT_FOUND, CONFLICT, SERVICE_UNAVAILABLE.
    """
    try:
        return named_package(services, skill_id)
    except RegistryError as error:
        if skill_id == OWN_ID and error.status == 404:
            return own_package(base_url)
        raise


def document(services: Services, packages: list[SkillPackage]) -> DiscoveryDocument:
    """Return the document of these skills. Their names differ."""
    return DiscoveryDocument(skills=[_entry(package, _description(services, package)) for package in packages])


def _entry(package: SkillPackage, description: str) -> SkillEntry:
    name = package.skill_id.rpartition("/")[2]
    return SkillEntry(
        name=name,
        description=description,
        url=f"{name}.zip",
        digest=f"sha256:{package.digest}",
        version=package.version,
        files=list(package.files),
    )


def _description(services: Services, package: SkillPackage) -> str:
    try:
        skill: Skill | None = services.catalog.get(package.skill_id)
    except RegistryError:
        skill = None
    text = skill.description if skill else _own_description(package)
    return text if len(text) <= _MAX_DESCRIPTION else f"{text[: _MAX_DESCRIPTION - 1]}…"


def _own_description(package: SkillPackage) -> str:
    return str(read(package.files[SKILL_FILE].data.decode()).fields["description"])
