"""`skills.lock`: the exact state of the installed skills, for reproducible installation and verification.

It is TOML with one table for each skill in order of id. It has no times and no names of machines, so equal skills give
equal bytes.
"""

import contextlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import tomlkit
from msgspec import Meta, field

from registry.domain.models import SkillId, Version
from registry.domain.origins import CommitHash, LocalOrigin, Origin, RegistryOrigin, Sha256
from registry.domain.release_proofs import LoggedRelease, PinnedProof
from registry.domain.validation import convert
from registry.errors import RegistryError
from registry.parsing.toml_text import MergeConflict, load_toml
from registry.runtime.atomic_files import only_writer, replace_file

LOCK_FILE = "skills.lock"

_HEADER = " Written by 'skill-registry', checked by 'skill-registry verify'. Not to be edited by hand."

FolderPath = Annotated[
    str,
    Meta(
        max_length=4096,
        pattern=r"\A(?!\.\.?(/|\Z))[^/\x00]+(/(?!\.\.?(/|\Z))[^/\x00]+)*\Z",
        extra={"rule": "must be a path below the skills directory, with '/' and without '..'", "multiline": True},
    ),
]


class LockFileError(Exception):
    """The lock cannot be read or written; the message is one line that says why."""


class _Conflicted(LockFileError):
    """The lock has conflicts of a merge."""


class LockedSkill(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One installed skill: `path` is its folder below the skills directory, `sha256` its `tree_digest`.

    A release of a registry has the SHA-256 of its zip in `package`, and in `log` the proof that the registry's log
    includes it. `required_by` has the entries that need it, in order of id.
    """

    id: SkillId
    version: Version
    path: FolderPath
    origin: Origin
    commit: CommitHash | None = None
    sha256: Sha256
    package: Sha256 | None = None
    log: PinnedProof | None = None
    required_by: list[SkillId] = field(default_factory=list)

    @property
    def is_handmade(self) -> bool:
        """Whether the skill was made in the skills directory, so that there is nowhere to install it from."""
        return self.origin == LocalOrigin(path=self.path) or self.path != self.id

    @property
    def logged(self) -> LoggedRelease:
        """What the log of the registry must say about this entry."""
        skill_id = self.origin.skill if isinstance(self.origin, RegistryOrigin) else self.id
        return LoggedRelease(skill_id, self.version, f"sha256:{self.package}", f"sha256:{self.sha256}")


class _Lock(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    version: Literal[1]
    skill: list[LockedSkill] = field(default_factory=list)


def write_lock(path: Path, entries: Iterable[LockedSkill], *, locked: bool = False) -> None:
    """Write the lock atomically and durably. `locked` means that the caller already holds `only_writer`.

    Raises LockFileError for an invalid entry, OSError.
    """
    skills = sorted(entries, key=lambda entry: entry.id)
    text = _text(skills)
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise LockFileError(f"{path.name} cannot be written: the name of a skill's folder is not UTF-8") from None
    _parsed(data, path.name)
    with contextlib.nullcontext() if locked else only_writer(path):
        replace_file(path, data)


def read_lock(path: Path) -> list[LockedSkill]:
    """Return the entries in order of id. Raises LockFileError if the lock is missing or invalid."""
    if not path.exists():
        raise LockFileError(f"there is no {path.name}: run 'skill-registry lock' to write one")
    if not path.is_file():
        raise LockFileError(f"{path.name} is not a regular file")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise LockFileError(f"{path.name} cannot be read: {error.strerror}") from None
    try:
        return _parsed(data, path.name)
    except _Conflicted as error:
        remedy = f"take one side, as 'git checkout --ours {path.name}' does, and run 'skill-registry install'"
        raise LockFileError(f"{error}: {remedy}, which adds what else the manifest names") from None
    except LockFileError as error:
        remedy = "correct it, or delete it and run 'skill-registry lock'"
        raise LockFileError(f"{error}: {remedy}") from None


def _text(skills: Sequence[LockedSkill]) -> str:
    document = tomlkit.document()
    document.add(tomlkit.comment(_HEADER.strip()))
    document.add("version", tomlkit.item(1))
    tables = tomlkit.aot()
    for skill in skills:
        table = tomlkit.table()
        for name, value in msgspec.to_builtins(skill).items():
            table.add(name, _inline(value) if isinstance(value, dict) else value)
        tables.append(table)
    if skills:
        document.add("skill", tables)
    return document.as_string()


def _inline(values: dict[str, object]) -> tomlkit.items.InlineTable:
    table = tomlkit.inline_table()
    for name, value in values.items():
        table.append(name, _inline(value) if isinstance(value, dict) else value)
    return table


def _parsed(data: bytes, name: str) -> list[LockedSkill]:
    try:
        lock = convert(load_toml(data), _Lock)
    except MergeConflict as error:
        raise _Conflicted(f"{name} {error}") from None
    except ValueError as error:
        raise LockFileError(f"{name} {error}") from None
    except RegistryError as error:
        raise LockFileError(f"{name} is not a valid lock: {error.message}") from None
    for field_name in ("id", "path"):
        values = [getattr(skill, field_name) for skill in lock.skill]
        if len(set(values)) < len(values):
            raise LockFileError(f"{name} is not a valid lock: two skills have the same {field_name}")
    return sorted(lock.skill, key=lambda entry: entry.id)
