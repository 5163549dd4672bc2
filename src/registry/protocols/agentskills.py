"""What the format of agentskills.io demands of a skill. Protocols of that format leave out the other skills."""

from registry.errors import left_out
from registry.parsing.frontmatter import read
from registry.parsing.yaml_text import Value
from registry.services.container import Services
from registry.services.names import name_of
from registry.services.skill_files import SkillPackage
from registry.skill_folder.tree import SKILL_FILE

_MAX_DESCRIPTION = 1024


def front_matter(package: SkillPackage) -> dict[str, Value]:
    """Return the front matter of a skill."""
    return read(package.files[SKILL_FILE].data.decode("utf-8", "replace")).fields


def description_of(package: SkillPackage) -> str:
    """Return the description of a skill as one line of at most 1,024 characters, empty without one."""
    text = " ".join(str(front_matter(package).get("description") or "").split())
    return text if len(text) <= _MAX_DESCRIPTION else f"{text[: _MAX_DESCRIPTION - 1]}…"


def named_package(services: Services, skill_id: str, version: str | None = None, *, keep: bool = True) -> SkillPackage:
    """Return the files of a skill whose id and `SKILL.md` have the same name of agentskills.io.

    That is the current version if the skill is enabled, or the version that is named. `keep` is that of `SkillFiles`.
    Raises SKILL_NOT_FOUND, NOT_FOUND, CONFLICT, SERVICE_UNAVAILABLE.
    """
    files = services.skill_files
    package = files.listed(skill_id, keep=keep) if version is None else files.get(skill_id, version, keep=keep)
    name = name_of(skill_id)
    if name is None or front_matter(package).get("name") != name:
        raise left_out(skill_id)
    return package
