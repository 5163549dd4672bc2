"""The protocol between the service and a child process: MessagePack messages, each after its length in four bytes."""

import os
import struct
from pathlib import Path
from typing import Any

import msgspec

from registry.domain.findings import Finding, SkillFindings
from registry.packages.limits import PackageLimits
from registry.packages.package import Package
from registry.packages.update_diff import Footprint

LENGTH = struct.Struct(">I")


class Message(msgspec.Struct, frozen=True, tag=True):
    """A message; its tag is the name of its class."""


class ScanFolders(Message, frozen=True):
    """Scan the texts of each folder: one answer per folder, in order."""

    folders: list[Path]


class ScanSkillFiles(Message, frozen=True):
    """Scan skills that have a SKILL.md with these bytes and no other file: one answer per skill, in order."""

    skill_files: list[bytes]


class RecordTexts(msgspec.Struct, frozen=True):
    """The texts of a skill without files that are scanned."""

    name: str
    description: str
    body: str


class ScanRecords(Message, frozen=True):
    """Scan skills without files: one answer per skill, in order."""

    records: list[RecordTexts]


class ReadPackage(Message, frozen=True):
    """Read a zip or a folder into `staged`, which must not exist: one answer. `named` is that of `read_zip`."""

    source: Path
    staged: Path
    limits: PackageLimits
    named: str | None = None


class Ready(Message, frozen=True):
    """The child is ready for requests."""


class Scanned(Message, frozen=True):
    """The result of a scan."""

    findings: SkillFindings


class PackageRead(Message, frozen=True):
    """The package is valid and staged."""

    package: Package
    footprint: Footprint


class PackageBroken(Message, frozen=True):
    """The package is invalid."""

    findings: list[Finding]


class StorageFailed(Message, frozen=True):
    """A file could not be read or written: the number and the text of the OSError."""

    number: int
    reason: str


class Failed(Message, frozen=True):
    """The request failed and would fail again. `trace` is a traceback for the log; it may be empty."""

    reason: str
    trace: str = ""


Request = ScanFolders | ScanSkillFiles | ScanRecords | ReadPackage
Answer = Ready | Scanned | PackageRead | PackageBroken | StorageFailed | Failed


def encode(message: Message) -> bytes:
    """Return a message after its length. Raises UnicodeEncodeError for a text with a lone surrogate."""
    data = msgspec.msgpack.encode(message, enc_hook=os.fsencode)
    return LENGTH.pack(len(data)) + data


def decode_request(data: bytes) -> Request:
    """Return the request in `data`."""
    return msgspec.msgpack.decode(data, type=Request, dec_hook=_path)  # type: ignore[no-any-return]


def decode_answer(data: bytes) -> Answer:
    """Return the answer in `data`. Raises msgspec.MsgspecError for anything else."""
    return msgspec.msgpack.decode(data, type=Answer, dec_hook=_path)  # type: ignore[no-any-return]


def _path(type_: type[Any], value: bytes) -> Path:
    """Return a path from the bytes of its name in the file system."""
    return Path(os.fsdecode(value))
