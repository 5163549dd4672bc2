"""The overview of a project: its dependencies, whether they are installed, and its rule file for editors."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from registry.catalog.installs import installed_as
from registry.catalog.store import Catalog
from registry.domain.agents import RULE_FILES, RuleFileKind
from registry.domain.models import Skill
from registry.domain.origins import LocalOrigin, Origin, SourceOrigin
from registry.domain.withdrawals import is_revoked
from registry.errors import conflict
from registry.project.manifest import Dependency, Manifest, ProjectMetadata, SourceKind
from registry.project.manifest_file import refusing_unwritable
from registry.project.rule_file import BlockUnclosed, ListedSkill, render_mdc, with_block
from registry.runtime.atomic_files import only_writer, replace_file

_MAX_BYTES = 1 << 20
"""How large a file may be that gets a block: agents read it whole."""


class ManifestSkill(msgspec.Struct, kw_only=True):
    """One dependency in the list of the manifest."""

    id: str
    version: str | None
    groups: list[str]
    editable: bool
    source_type: SourceKind


class ProjectSkill(msgspec.Struct, kw_only=True):
    """One dependency and whether it is installed. `location` is the URL, path or source in the manifest."""

    id: str
    type: SourceKind
    location: str | None
    groups: list[str]
    editable: bool
    installed: bool
    installed_version: str | None


class ProjectData(msgspec.Struct, kw_only=True):
    """The project; nulls and no skills without a manifest."""

    metadata: ProjectMetadata | None
    skills_directory: str | None
    skills: list[ProjectSkill]


class GeneratedMdc(msgspec.Struct, kw_only=True):
    """A rule file: its path below the project's folder, the number of skills it lists, and its whole text."""

    path: str
    skills_count: int
    content: str


def manifest_skill(skill_id: str, dependency: Dependency) -> ManifestSkill:
    """Return a dependency as an entry of the list."""
    return ManifestSkill(
        id=skill_id,
        version=dependency.version,
        groups=dependency.groups,
        editable=dependency.editable,
        source_type=dependency.source_type,
    )


def manifest_skills(manifest: Manifest | None) -> list[ManifestSkill]:
    """Return the dependencies of a manifest in its order; an empty list without a manifest."""
    return [manifest_skill(*item) for item in manifest.dependencies.items()] if manifest else []


def project_data(manifest: Manifest | None, catalog: Catalog) -> ProjectData:
    """Return the overview of the project."""
    if manifest is None:
        return ProjectData(metadata=None, skills_directory=None, skills=[])
    return ProjectData(
        metadata=manifest.metadata,
        skills_directory=manifest.tool.skills_directory,
        skills=[
            _project_skill(skill_id, dependency, catalog) for skill_id, dependency in manifest.dependencies.items()
        ],
    )


def _project_skill(skill_id: str, dependency: Dependency, catalog: Catalog) -> ProjectSkill:
    version = catalog.installed_version(skill_id)
    if version is None and (installed := installed_as(catalog.database, skill_id)):
        version = catalog.installed_version(installed)
    return ProjectSkill(
        id=skill_id,
        type=dependency.source_type,
        location=_location(dependency.origin),
        groups=dependency.groups,
        editable=dependency.editable,
        installed=version is not None,
        installed_version=version,
    )


def _location(origin: Origin | None) -> str | None:
    match origin:
        case None:
            return None
        case LocalOrigin(path=path):
            return path
        case SourceOrigin(source=source):
            return source
        case _:
            return origin.url


def generate(catalog: Catalog, skills_dir: Path, project: Path, file: RuleFileKind, *, write: bool) -> GeneratedMdc:
    """Return the file that lists the installed skills that agents may choose; with `write`, also write it.

    `content` is the whole text of the file. In AGENTS.md and CLAUDE.md, everything but the block of skills stays.
    Raises CONFLICT if the file is outside of the project through a link, is no text or has half a block;
    SERVICE_UNAVAILABLE if it cannot be written.
    """
    listed = list(_listed(catalog, skills_dir, project))
    path = _inside(project, RULE_FILES[file])
    if not write:
        content = _rendered(file, path, listed)
    else:
        with refusing_unwritable(RULE_FILES[file]):
            path.parent.mkdir(parents=True, exist_ok=True)
            with only_writer(path):  # the text around the block is read under the lock
                content = _rendered(file, path, listed)
                replace_file(path, content.encode("utf-8", "replace"))
    return GeneratedMdc(path=RULE_FILES[file], skills_count=len(listed), content=content)


def _rendered(file: RuleFileKind, path: Path, listed: Sequence[ListedSkill]) -> str:
    return render_mdc(listed) if file == "mdc" else _with_block(path, listed)


def _listed(catalog: Catalog, skills_dir: Path, project: Path) -> Iterator[ListedSkill]:
    root = os.path.relpath(skills_dir, project)
    for stored in catalog.installed():
        if _is_for_agents(stored.skill):
            yield ListedSkill(stored.skill, Path(root, stored.skill.skill_file or "").as_posix())


def _is_for_agents(skill: Skill) -> bool:
    """Return whether agents may choose a skill: it is enabled, for them too, and its registry has not revoked it."""
    return skill.enabled and skill.model_invocation and not is_revoked(skill.withdrawn)


def _inside(project: Path, name: str) -> Path:
    """Return the path of a rule file. AGENTS.md and CLAUDE.md may be links to each other; the `.mdc` is replaced.

    A link to any other file is refused: a cloned repository can hold one to a hook of git.
    """
    path = project / name
    is_link = path.suffix == ".md" and path.is_symlink()
    path = path.resolve() if is_link else path.parent.resolve() / path.name
    if not path.is_relative_to(project.resolve()):
        raise conflict(f"{name} is a link to a place outside the project: replace it with a file of the project")
    if is_link and path.name not in RULE_FILES.values():
        raise conflict(f"{name} is a link to {path.name}: replace it with a file")
    return path


def _with_block(path: Path, listed: Sequence[ListedSkill]) -> str:
    if os.path.lexists(path) and not (path.is_file() and path.stat().st_size <= _MAX_BYTES):
        raise conflict(f"{path.name} is no file of at most {_MAX_BYTES >> 20} MiB")
    try:
        text = path.read_bytes().decode() if path.exists() else ""
        return with_block(text, listed)
    except UnicodeDecodeError:
        raise conflict(f"{path.name} is not UTF-8 text: save it as UTF-8") from None
    except BlockUnclosed:
        raise conflict(
            f"{path.name} has half of the block of skills, or several: remove the lines that begin with"
            " '<!-- skill-registry:'"
        ) from None
