"""What the service and a child process say to each other: MessagePack behind four bytes of length."""

import os
import struct
from pathlib import Path
from typing import Any

import msgspec

from registry.findings import Finding, SkillFindings
from registry.packages import Limits, Package
from registry.update_notes import Reach

LENGTH = struct.Struct(">I")


class Message(msgspec.Struct, frozen=True, tag=True):
    """Anything that is said; its tag is the name of its class."""


class ScanFolders(Message, frozen=True):
    """Look into the texts of each folder: one answer a folder, in their order."""

    folders: list[Path]


class ScanRecord(Message, frozen=True):
    """Look into a skill without files: one answer."""

    name: str
    description: str
    body: str


class ReadPackage(Message, frozen=True):
    """Read a zip or a folder into `staged`, which must not exist: one answer."""

    source: Path
    staged: Path
    limits: Limits


class Ready(Message, frozen=True):
    """The child has loaded what it needs."""


class Scanned(Message, frozen=True):
    """What was found."""

    findings: SkillFindings


class PackageRead(Message, frozen=True):
    """The package keeps the rules and is staged."""

    package: Package
    reach: Reach


class PackageBroken(Message, frozen=True):
    """The package breaks the rules."""

    findings: list[Finding]


class StorageFailed(Message, frozen=True):
    """A file of ours could not be read or written, as an OSError says it."""

    number: int
    reason: str


class Failed(Message, frozen=True):
    """What was asked for cannot be done, and would not be the next time; `trace` is for the log, and may be empty."""

    reason: str
    trace: str = ""


Request = ScanFolders | ScanRecord | ReadPackage
Answer = Ready | Scanned | PackageRead | PackageBroken | StorageFailed | Failed


def encode(message: Message) -> bytes:
    """Return a message with its length before it. Raises UnicodeEncodeError for a text with a lone surrogate."""
    data = msgspec.msgpack.encode(message, enc_hook=os.fsencode)
    return LENGTH.pack(len(data)) + data


def decode_request(data: bytes) -> Request:
    """Return what a child is asked."""
    return msgspec.msgpack.decode(data, type=Request, dec_hook=_path)  # type: ignore[no-any-return]


def decode_answer(data: bytes) -> Answer:
    """Return what a child says. Raises msgspec.MsgspecError for anything else."""
    return msgspec.msgpack.decode(data, type=Answer, dec_hook=_path)  # type: ignore[no-any-return]


def _path(type_: type[Any], value: bytes) -> Path:
    """Return a path, which is told as the bytes the file system knows it by."""
    return Path(os.fsdecode(value))
