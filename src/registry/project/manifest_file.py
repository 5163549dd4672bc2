"""Reads and changes the skill-project.toml of a project, with one writer at a time."""

import errno
import logging
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from registry.domain.models import Groups, SkillId, SourceName
from registry.domain.origins import Origin, SourceOrigin, parse_origin
from registry.domain.version_requirement import VersionRequirement
from registry.errors import FieldError, RegistryError, conflict, not_found, service_unavailable, validation_error
from registry.parsing.text_encoding import without_mark
from registry.project.local_paths import portable
from registry.project.manifest import MAX_BYTES, Dependency, Manifest, parse_manifest, without_version
from registry.project.manifest_edit import put_agents, put_dependency, remove_dependency
from registry.runtime.atomic_files import only_writer, replace_file

_log = logging.getLogger("registry.project")

_EMPTY = """\
# The skills of this project: 'skill-registry install ORIGIN' adds one, 'skill-registry install' installs all of them.

[dependencies]
"""

_UNWRITABLE = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST, errno.EISDIR})


class DependencyChanges(msgspec.Struct, kw_only=True):
    """The body that changes a dependency. Fields that are not sent stay as they are.

    `source_name` is short for an origin. An origin may be an object or a string.
    """

    skill_id: SkillId | UnsetType = UNSET
    source_name: SourceName | None | UnsetType = UNSET
    version: VersionRequirement | None | UnsetType = UNSET
    origin: Origin | str | None | UnsetType = UNSET
    groups: Groups | UnsetType = UNSET
    editable: bool | UnsetType = UNSET


class NewDependency(DependencyChanges, kw_only=True):
    """The body that adds a dependency. Without a version, any is accepted; without an origin, any source is."""

    skill_id: SkillId


class ManifestFile:
    """A skill-project.toml, which may not exist yet. Folders below its own are written as paths relative to it.

    Methods raise VALIDATION_ERROR for an invalid file, which they never write, and SERVICE_UNAVAILABLE for a file that
    cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def folder(self) -> Path:
        """The project's folder."""
        return self.path.parent

    def read(self) -> Manifest | None:
        """Return the content of the file, or None if it does not exist."""
        data = self._bytes()
        return None if data is None else parse_manifest(data, self.path.name)

    def create(self) -> None:
        """Write a file without dependencies. Raises CONFLICT if it exists."""
        with refusing_unwritable(self.path.name):
            try:
                with self.path.open("x", encoding="utf-8") as file:
                    file.write(_EMPTY)
            except FileExistsError:
                raise conflict(f"{self.path.name} exists already") from None

    def add(self, new: NewDependency) -> Dependency:
        """Add a dependency. Raises CONFLICT if it exists."""
        dependency = Dependency(**self._portable(_sent(new, new.skill_id)))

        def edit(text: str, manifest: Manifest) -> str:
            if new.skill_id in manifest.dependencies:
                raise conflict(f"'{new.skill_id}' is already in the manifest")
            return put_dependency(text, new.skill_id, dependency, self.path.name)

        self._edit(edit)
        return dependency

    def change(self, skill_id: str, changes: DependencyChanges) -> Dependency:
        """Change the sent fields of a dependency and return it. Raises NOT_FOUND, VALIDATION_ERROR if none is sent."""
        if changes.skill_id not in (UNSET, skill_id):
            raise validation_error(FieldError("skill_id", "must be the id in the path"))
        sent = self._portable(_sent(changes, skill_id))
        if not sent:
            raise validation_error(message="The body changes nothing: send at least one field")
        changed = Dependency()

        def edit(text: str, manifest: Manifest) -> str:
            nonlocal changed
            changed = msgspec.structs.replace(_get(manifest, skill_id), **sent)
            return put_dependency(text, skill_id, changed, self.path.name)

        self._edit(edit)
        return changed

    def set_agents(self, agents: Sequence[str], *, links: bool) -> None:
        """Set the agents whose folders get every skill. Raises CONFLICT if the layout of the file does not allow it."""
        self._edit(lambda text, manifest: put_agents(text, agents, links=links, name=self.path.name))

    def remove(self, skill_id: str) -> None:
        """Remove a dependency. Raises NOT_FOUND."""

        def edit(text: str, manifest: Manifest) -> str:
            _get(manifest, skill_id)
            return remove_dependency(text, skill_id, self.path.name)

        self._edit(edit)

    def follow(self, ids: Mapping[str, str]) -> None:
        """Give the dependencies the new ids of their skills, by the former ones. A failure is logged."""

        def edit(text: str, manifest: Manifest) -> str:
            for former, now in ids.items():
                if former in manifest.dependencies and now not in manifest.dependencies:
                    without = remove_dependency(text, former, self.path.name)
                    text = put_dependency(without, now, manifest.dependencies[former], self.path.name)
            return text

        try:
            manifest = self.read()
            if manifest is not None and ids.keys() & manifest.dependencies.keys():
                self._edit(edit)
        except (RegistryError, OSError) as error:
            _log.warning("the manifest keeps former ids of skills: %s", error)

    def discard(self, names: Sequence[str]) -> tuple[str, Dependency] | None:
        """Remove the dependency with the first of these ids that exists, and return both. A failure is logged."""
        try:
            manifest = self.read()
            if manifest is not None and (name := manifest.name_of(names)):
                self.remove(name)
                return name, manifest.dependencies[name]
        except (RegistryError, OSError) as error:
            _log.warning("cannot remove skill %s from the manifest: %s", names[0], error)
        return None

    def put_back(self, name: str, dependency: Dependency) -> None:
        """Add a dependency as it was, unless the file is gone or names it. Raises OSError."""

        def edit(text: str, manifest: Manifest) -> str:
            return text if name in manifest.dependencies else put_dependency(text, name, dependency, self.path.name)

        if self.path.exists():
            self._edit(edit)

    def _portable(self, sent: dict[str, Any]) -> dict[str, Any]:
        origin = sent.get("origin")
        return sent if origin is None else sent | {"origin": portable(origin, self.folder)}

    def _edit(self, edit: Callable[[str, Manifest], str]) -> None:
        with refusing_unwritable(self.path.name):
            path = Path(os.path.realpath(self.path))
            path.parent.mkdir(parents=True, exist_ok=True)
            with only_writer(path):
                before = without_mark(self._bytes() or b"")
                manifest = parse_manifest(before, self.path.name)
                after = edit(before.decode(), manifest).encode()
                if after != before:
                    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o644
                    replace_file(path, after, mode)

    def _bytes(self) -> bytes | None:
        try:
            if not stat.S_ISREG(self.path.stat().st_mode):
                raise validation_error(FieldError(self.path.name, "is not a regular file"))
            with self.path.open("rb") as file:
                return file.read(MAX_BYTES + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            reason = error.strerror or "unknown"
            raise service_unavailable(f"{self.path.name} cannot be read: {reason}") from None


@contextmanager
def refusing_unwritable(name: str) -> Iterator[None]:
    """Raise SERVICE_UNAVAILABLE if the block cannot write the file `name`, or not in time."""
    try:
        yield
    except TimeoutError:
        raise service_unavailable(f"Another process is writing {name}: try again later") from None
    except OSError as error:
        if error.errno not in _UNWRITABLE:
            raise
        raise service_unavailable(f"{name} cannot be written: {error.strerror}") from None


def _get(manifest: Manifest, skill_id: str) -> Dependency:
    if skill_id not in manifest.dependencies:
        raise not_found(f"Entry '{skill_id}' of the manifest")
    return manifest.dependencies[skill_id]


def _sent(body: DependencyChanges, skill_id: str) -> dict[str, Any]:
    """Return the sent fields of an entry, including `version` and `editable` of the origin.

    Raises VALIDATION_ERROR if the body is contradictory.
    """
    sent = {name: value for name in Dependency.__struct_fields__ if (value := getattr(body, name)) is not UNSET}
    if isinstance(sent.get("origin"), str):
        sent["origin"] = parse_origin(sent["origin"])
    faults = []
    if isinstance(body.source_name, str):
        if sent.get("origin") is not None:
            faults.append(FieldError("source_name", "must not be sent together with origin"))
        sent["origin"] = SourceOrigin(source=body.source_name, skill=skill_id)
    origin = sent.get("origin")
    for name in ("version", "editable"):
        nested = getattr(origin, name, None)
        if nested and sent.get(name) not in (None, nested):
            faults.append(FieldError(name, "must equal that of the origin, or not be sent"))
        elif nested:
            sent[name] = nested
    if faults:
        raise validation_error(*faults)
    if origin is not None:
        sent["origin"] = without_version(origin)
    if "groups" in sent:
        sent["groups"] = list(dict.fromkeys(sent["groups"]))
    return sent
