"""Is an index file what was written? Checks made before a file of the cache is trusted."""

import hashlib
import json
import mmap
import os
import zlib
from pathlib import Path
from typing import Any

_FOOTER_MAGIC = 1337
"""The number tantivy writes last in every segment file, after the length of the footer before it."""


_PART = 1 << 20


def tantivy_fault(folder: Path) -> str | None:
    """Return why the tantivy index in `folder` cannot be trusted, or None.

    tantivy writes a CRC-32 of each segment file into that file's footer but does not read it when it opens an index,
    so a flipped byte would be served. Format: body, footer as JSON, its length and a magic number (4 bytes each,
    little-endian); `meta.json` names the segments.
    """
    try:
        meta = json.loads((folder / "meta.json").read_bytes())
        segments = {segment["segment_id"].replace("-", "") for segment in meta["segments"]}
    except FileNotFoundError:
        return "there is no index yet"
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return "meta.json is damaged"
    versions = set()
    for path in sorted(folder.iterdir()):
        if path.name.partition(".")[0] in segments:
            versions.add(_version_if_sound(path))
            # All were written by one release: where they disagree, it is a footer that is damaged.
            if None in versions or len(versions) > 1:
                return f"{path.name} is damaged"
    return None


def link_tantivy(folder: Path, copy: Path) -> None:
    """Make a folder that holds the last commit of a tantivy index. Raises OSError where a merge takes files away.

    Files of segments never change, so links to them are a copy; `meta.json` is replaced by every commit.
    """
    copy.mkdir()
    meta = (folder / "meta.json").read_bytes()
    segments = {segment["segment_id"].replace("-", "") for segment in json.loads(meta)["segments"]}
    for path in folder.iterdir():
        if path.name.partition(".")[0] in segments:
            os.link(path, copy / path.name)
    (copy / "meta.json").write_bytes(meta)
    if (fault := tantivy_fault(copy)) is not None:
        raise OSError(fault)


def _version_if_sound(path: Path) -> str | None:
    """Return the version of tantivy that wrote a segment file, or None where its checksum does not hold."""
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
    for start in range(0, end, _PART):
        crc = zlib.crc32(data[start : min(start + _PART, end)], crc)
    return crc


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sidecar(path: Path) -> Path:
    """Return where the description of an index file lies."""
    return path.with_name(path.name + ".json")


def write_with_sidecar(temporary: Path, path: Path, facts: dict[str, Any]) -> None:
    """Move a finished file to `path` beside a sidecar of `facts` and its SHA-256, so that a crash leaves old or new.

    A crash between the two renames leaves a file its sidecar does not fit, which `read_sidecar` refuses.
    """
    _fsync(temporary)
    described = sidecar(path).with_suffix(".json.tmp")
    described.write_text(json.dumps({**facts, "sha256": sha256(temporary)}, sort_keys=True))
    _fsync(described)
    temporary.replace(path)
    described.replace(sidecar(path))
    _fsync(path.parent)


def read_sidecar(path: Path) -> dict[str, Any] | None:
    """Return the facts beside an index file, or None where either is missing or the file is not what they describe."""
    try:
        facts = json.loads(sidecar(path).read_bytes())
        digest = sha256(path)
    except (OSError, ValueError):
        return None
    return facts if isinstance(facts, dict) and facts.get("sha256") == digest else None


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
