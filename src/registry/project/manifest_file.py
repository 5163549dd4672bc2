"""The project's skill-project.toml as a file: read as often as asked, changed by one writer at a time."""

import errno
import logging
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from registry.domain.models import Groups, SkillId, SourceName, Version
from registry.domain.origins import Origin, SourceOrigin, parse_origin
from registry.errors import FieldError, RegistryError, conflict, not_found, service_unavailable, validation_error
from registry.project.manifest import MAX_BYTES, Dependency, Manifest, parse_manifest, without_said
from registry.project.manifest_edit import put_dependency, remove_dependency
from registry.runtime.atomic_files import only_writer, replace_file

_log = logging.getLogger("registry.project")

_UNWRITABLE = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST, errno.EISDIR})


class DependencyChanges(msgspec.Struct, kw_only=True):
    """The body that changes a dependency: only what is sent changes.

    `source_name` is short for an origin, and an origin may be one string that says which it is.
    """

    skill_id: SkillId | UnsetType = UNSET
    source_name: SourceName | None | UnsetType = UNSET
    version: Version | None | UnsetType = UNSET
    origin: Origin | str | None | UnsetType = UNSET
    groups: Groups | UnsetType = UNSET
    editable: bool | UnsetType = UNSET


class NewDependency(DependencyChanges, kw_only=True):
    """The body that adds a dependency; without a version any is wanted, without an origin it may be any source's."""

    skill_id: SkillId


class ManifestFile:
    """A skill-project.toml, which need not be there yet.

    Methods raise VALIDATION_ERROR for a file that cannot be understood, which is then never written, and
    SERVICE_UNAVAILABLE for one that cannot be reached.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def folder(self) -> Path:
        """The project's folder."""
        return self.path.parent

    def read(self) -> Manifest | None:
        """Return what the file says; None where there is none."""
        data = self._bytes()
        return None if data is None else parse_manifest(data, self.path.name)

    def add(self, new: NewDependency) -> Dependency:
        """Add a dependency. Raises CONFLICT where it is there."""
        dependency = Dependency(**_sent(new, new.skill_id))

        def edit(text: str, manifest: Manifest) -> str:
            if new.skill_id in manifest.dependencies:
                raise conflict(f"'{new.skill_id}' is in the manifest already")
            return put_dependency(text, new.skill_id, dependency, self.path.name)

        self._edit(edit)
        return dependency

    def change(self, skill_id: str, changes: DependencyChanges) -> Dependency:
        """Change what is sent of a dependency and return it. Raises NOT_FOUND, VALIDATION_ERROR for an empty body."""
        if changes.skill_id not in (UNSET, skill_id):
            raise validation_error(FieldError("skill_id", "must be the id in the path"))
        sent = _sent(changes, skill_id)
        if not sent:
            raise validation_error(message="The body changes nothing: send at least one field")
        changed = Dependency()

        def edit(text: str, manifest: Manifest) -> str:
            nonlocal changed
            changed = msgspec.structs.replace(_expect(manifest, skill_id), **sent)
            return put_dependency(text, skill_id, changed, self.path.name)

        self._edit(edit)
        return changed

    def remove(self, skill_id: str) -> None:
        """Take a dependency out. Raises NOT_FOUND."""

        def edit(text: str, manifest: Manifest) -> str:
            _expect(manifest, skill_id)
            return remove_dependency(text, skill_id, self.path.name)

        self._edit(edit)

    def discard(self, skill_id: str) -> None:
        """Take a dependency out if it is there; where the file does not let itself be changed, the log says so."""
        try:
            manifest = self.read()
            if manifest is not None and skill_id in manifest.dependencies:
                self.remove(skill_id)
        except (RegistryError, OSError) as error:
            _log.warning("skill %s was removed, its entry in the manifest may not be: %s", skill_id, error)

    def _edit(self, edit: Callable[[str, Manifest], str]) -> None:
        with refusing_unwritable(self.path.name):
            path = Path(os.path.realpath(self.path))
            path.parent.mkdir(parents=True, exist_ok=True)
            with only_writer(path):
                before = self._bytes() or b""
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
    """Raise SERVICE_UNAVAILABLE where the block may not, or in time cannot, write the project's file `name`."""
    try:
        yield
    except TimeoutError:
        raise service_unavailable(f"Another process is writing {name}") from None
    except OSError as error:
        if error.errno not in _UNWRITABLE:
            raise
        raise service_unavailable(f"{name} cannot be written: {error.strerror}") from None


def _expect(manifest: Manifest, skill_id: str) -> Dependency:
    if skill_id not in manifest.dependencies:
        raise not_found(f"'{skill_id}' in the manifest")
    return manifest.dependencies[skill_id]


def _sent(body: DependencyChanges, skill_id: str) -> dict[str, Any]:
    """Return what a body says of an entry's fields, all that its origin says of them included.

    Raises VALIDATION_ERROR where the body contradicts itself.
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
        within = getattr(origin, name, None)
        if within and sent.get(name) not in (None, within):
            faults.append(FieldError(name, "must be that of the origin, or not be sent"))
        elif within:
            sent[name] = within
    if faults:
        raise validation_error(*faults)
    if origin is not None:
        sent["origin"] = without_said(origin)
    if "groups" in sent:
        sent["groups"] = list(dict.fromkeys(sent["groups"]))
    return sent
