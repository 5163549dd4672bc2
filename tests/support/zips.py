"""Zips of any shape, honest or not, built record by record."""

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from registry.domain.findings import Finding
from registry.packages.package import read_zip
from registry.packages.refusal import PackageRefused

SKILL = b"---\nname: pdf-forms\ndescription: Fills the fields of PDF forms.\n---\n\n# PDF forms\n"
STORED, DEFLATED, STREAMED = 0, 8, 8


@dataclass
class Item:
    """One entry; `central` and `local` override fields of its two headers, by name.

    `mode` is a Unix mode, `attributes` those of DOS and Windows.
    """

    name: bytes
    data: bytes = b""
    method: int = STORED
    flags: int = 0
    mode: int = 0o100644
    attributes: int = 0
    extra: bytes = b""
    comment: bytes = b""
    descriptor: bytes = b""
    central: dict[str, int] = field(default_factory=dict)
    local: dict[str, int] = field(default_factory=dict)
    local_name: bytes | None = None

    def packed(self) -> bytes:
        """Return the data as it stands in the archive."""
        if self.method != DEFLATED:
            return self.data
        deflater = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
        return deflater.compress(self.data) + deflater.flush()

    def fields(self) -> dict[str, int]:
        """Return what both headers say unless told otherwise."""
        return {"crc": zlib.crc32(self.data), "packed": len(self.packed()), "size": len(self.data)}


def raw_zip(*items: Item, before: bytes = b"", gap: bytes = b"", after: bytes = b"", **end: int | bytes) -> bytes:
    """Return a zip of the items; `end` overrides `count`, `length`, `start` and `comment` of the end record."""
    out, central = bytearray(before), bytearray()
    for item in items:
        start = len(out)
        there = item.fields() | item.central
        here = item.fields() | item.local
        name = item.name if item.local_name is None else item.local_name
        out += struct.pack("<4s5H3L2H", b"PK\3\4", 20, item.flags, item.method, 0, 33, here["crc"], here["packed"],
                           here["size"], len(name), len(item.extra))  # fmt: skip
        out += name + item.extra + item.packed() + item.descriptor
        central += struct.pack("<4s6H3L5H2L", b"PK\1\2", 0x0314, 20, item.flags, item.method, 0, 33, there["crc"],
                               there["packed"], there["size"], len(item.name), len(item.extra), len(item.comment), 0, 0,
                               item.mode << 16 | item.attributes, there.get("start", start))  # fmt: skip
        central += item.name + item.extra + item.comment
    comment = bytes(end.get("comment", b""))
    count, length = end.get("count", len(items)), end.get("length", len(central))
    record = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count, count, length, end.get("start", len(out) + len(gap)),
                         len(comment))  # fmt: skip
    return bytes(out + gap + central + record + comment + after)


def skill_zip(*items: Item, **end: int | bytes) -> bytes:
    """Return a zip of a good SKILL.md and the items."""
    return raw_zip(Item(b"SKILL.md", SKILL), *items, **end)  # type: ignore[arg-type]


def plain_zip(files: Mapping[str, bytes]) -> bytes:
    """Return what Python's zipfile makes of files, the same bytes whenever it is called."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name)  # its time is fixed: the time of day would change the digest
            entry.external_attr = 0o600 << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return file.getvalue()


def refused_for(data: bytes, folder: Path) -> set[str]:
    """Return the rules a zip is refused for, none where it is taken; what is refused leaves nothing."""
    refused: tuple[Finding, ...] = ()
    try:
        read_zip(io.BytesIO(data), folder / "staged")
    except PackageRefused as refusal:
        refused = refusal.findings
    assert bool(refused) != (folder / "staged").exists()
    assert all(finding.message for finding in refused)
    return {finding.rule for finding in refused}


def project(**fields: str) -> bytes:
    """Return a skill-project.toml with these fields in `[metadata]`."""
    return ("[metadata]\n" + "".join(f'{key} = "{value}"\n' for key, value in fields.items())).encode()


def skill_file(text: str, body: str = "# Body\n") -> bytes:
    """Return a SKILL.md with this front matter."""
    return f"---\n{text}\n---\n{body}".encode()
