"""The overview of a project: its dependencies, whether they are installed, and its rule file for editors."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from registry.catalog.installs import installed_as
from registry.catalog.store import Catalog
from registry.domain.origins import LocalOrigin, Origin, SourceOrigin
from registry.errors import conflict
from registry.project.manifest import Dependency, Manifest, ProjectMetadata, SourceKind
from registry.project.manifest_file import refusing_unwritable
from registry.project.rule_file import ListedSkill, render_mdc
from registry.runtime.atomic_files import only_writer, replace_file

MDC_PATH = ".cursor/rules/skills.mdc"


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
    """The rule file: its path below the project's folder, the number of skills it lists, and its text."""

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


def generate_mdc(catalog: Catalog, skills_dir: Path, project: Path, *, write: bool) -> GeneratedMdc:
    """Return the rule file of the installed, enabled skills; with `write`, also write it.

    Raises CONFLICT if its folder is a link out of the project, SERVICE_UNAVAILABLE if it cannot be written.
    """
    listed = list(_listed(catalog, skills_dir, project))
    content = render_mdc(listed)
    if write:
        _write(project, content)
    return GeneratedMdc(path=MDC_PATH, skills_count=len(listed), content=content)


def _listed(catalog: Catalog, skills_dir: Path, project: Path) -> Iterator[ListedSkill]:
    root = os.path.relpath(skills_dir, project)
    for stored in catalog.installed():
        if stored.skill.enabled:
            yield ListedSkill(stored.skill, Path(root, stored.skill.skill_file or "").as_posix())


def _write(project: Path, content: str) -> None:
    path = project / MDC_PATH
    if not path.parent.resolve().is_relative_to(project.resolve()):
        raise conflict(f"The folder of {MDC_PATH} is a link to a place outside the project: replace it with a folder")
    with refusing_unwritable(MDC_PATH):
        path.parent.mkdir(parents=True, exist_ok=True)
        with only_writer(path):
            replace_file(path, content.encode("utf-8", "replace"))
