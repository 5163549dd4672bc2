"""Integrity checks of index files, made before a file is used."""

import hashlib
import json
import mmap
import os
import shutil
import zlib
from pathlib import Path
from typing import Any

STATE_FILE = "state.json"
"""The file in the folder of a tantivy index that says which revision the index has reached."""

_FOOTER_MAGIC = 1337
"""The last four bytes of every tantivy segment file; the length of the footer precedes them."""

_CRC_CHUNK_BYTES = 1 << 20


def tantivy_fault(folder: Path) -> str | None:
    """Return what is wrong with the tantivy index in `folder`, or None.

    tantivy writes a CRC-32 into the footer of each segment file, but does not check it when it opens an index: a
    flipped byte would go unnoticed. A file consists of the body, the footer as JSON, the footer's length and a magic
    number (4 bytes each, little-endian). `meta.json` lists the segments.
    """
    try:
        meta = json.loads((folder / "meta.json").read_bytes())
        segments = {segment["segment_id"].replace("-", "") for segment in meta["segments"]}
    except FileNotFoundError:
        return "there is no index"
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return "meta.json is damaged"
    versions = set()
    for path in sorted(folder.iterdir()):
        if path.name.partition(".")[0] in segments:
            versions.add(_version_if_intact(path))
            # One release wrote all files: if the versions differ, a footer is damaged.
            if None in versions or len(versions) > 1:
                return f"{path.name} is damaged"
    return None


def link_tantivy(folder: Path, copy: Path) -> None:
    """Copy the last commit of a tantivy index into a new folder. Raises OSError if a merge deletes files meanwhile.

    Segment files never change, so hard links are enough. Every commit replaces `meta.json` and then the state, so they
    are copied, the state first: a copy may be ahead of its state, never behind it.
    """
    copy.mkdir()
    shutil.copyfile(folder / STATE_FILE, copy / STATE_FILE)
    meta = (folder / "meta.json").read_bytes()
    segments = {segment["segment_id"].replace("-", "") for segment in json.loads(meta)["segments"]}
    for path in folder.iterdir():
        if path.name.partition(".")[0] in segments:
            os.link(path, copy / path.name)
    (copy / "meta.json").write_bytes(meta)
    if (fault := tantivy_fault(copy)) is not None:
        raise OSError(fault)


def _version_if_intact(path: Path) -> str | None:
    """Return the version of tantivy that wrote a segment file, or None if its checksum does not match."""
    if path.stat().st_size < 8:
        return None
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if int.from_bytes(data[-4:], "little") != _FOOTER_MAGIC:
            return None
        end = len(data) - 8
        start = max(end - int.from_bytes(data[-8:-4], "little"), 0)
        try:
            footer = json.loads(data[start:end])
            return json.dumps(footer["version"]) if footer["crc"] == _crc(data, start) else None
        except (ValueError, TypeError, KeyError):
            return None


def _crc(data: mmap.mmap, end: int) -> int:
    crc = 0
    for start in range(0, end, _CRC_CHUNK_BYTES):
        crc = zlib.crc32(data[start : min(start + _CRC_CHUNK_BYTES, end)], crc)
    return crc


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def replace_file(path: Path, data: bytes) -> None:
    """Replace a file at once, and wait until that is on the disk. Raises OSError."""
    _written_beside(path, data).replace(path)
    _fsync(path.parent)


def sidecar(path: Path) -> Path:
    """Return the path of the sidecar of an index file."""
    return path.with_name(path.name + ".json")


def write_with_sidecar(temporary: Path, path: Path, metadata: dict[str, Any]) -> None:
    """Rename a complete temporary file to `path`, with a sidecar that contains `metadata` and its SHA-256.

    A crash between the two renames leaves a sidecar that does not match the file, which `read_sidecar` rejects.
    """
    _fsync(temporary)
    sidecar_data = json.dumps({**metadata, "sha256": sha256(temporary)}, sort_keys=True).encode()
    sidecar_temporary = _written_beside(sidecar(path), sidecar_data)  # a full disk is noticed before either is replaced
    temporary.replace(path)
    sidecar_temporary.replace(sidecar(path))
    _fsync(path.parent)


def read_sidecar(path: Path) -> dict[str, Any] | None:
    """Return the sidecar of an index file, or None if either is missing or the SHA-256 does not match."""
    try:
        metadata = json.loads(sidecar(path).read_bytes())
        digest = sha256(path)
    except (OSError, ValueError):
        return None
    return metadata if isinstance(metadata, dict) and metadata.get("sha256") == digest else None


def _written_beside(path: Path, data: bytes) -> Path:
    """Write what is to replace a file to the disk, and return where it is. Raises OSError."""
    temporary = path.with_suffix(f"{path.suffix}.tmp")
    temporary.write_bytes(data)
    _fsync(temporary)
    return temporary


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
