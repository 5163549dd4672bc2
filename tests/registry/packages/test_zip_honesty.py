"""A zip that contradicts itself, hides bytes or contains more than it declares is refused."""

import gzip
import io
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib
from pathlib import Path

import pytest

from registry.packages.archive import Archive
from registry.packages.limits import DEFAULT_LIMITS
from registry.packages.refusal import PackageRefused
from support.zips import DEFLATED, SKILL, STREAMED, Item, plain_zip, raw_zip, refused_for, skill_zip

GOOD = plain_zip({"SKILL.md": SKILL, "a.txt": b"hello " * 50})
UNICODE_PATH = struct.pack("<2HBL", 0x7075, 5 + len(b"other"), 1, zlib.crc32(b"a")) + b"other"
SAME_PATH = struct.pack("<2HBL", 0x7075, 5 + 1, 1, zlib.crc32(b"a")) + b"a"
ZIP64 = struct.pack("<2H2Q", 1, 16, 1, 1)


def descriptor(data: bytes, size: int | None = None, signature: bytes = b"PK\7\x08") -> bytes:
    return signature + struct.pack("<3L", zlib.crc32(data), len(data), len(data) if size is None else size)


@pytest.mark.parametrize(
    ("item", "rule"),
    [
        (Item(b"a", b"x", flags=1), "encrypted"),
        (Item(b"a", b"x", flags=0x41), "encrypted"),
        (Item(b"a", b"x", flags=0x20), "archive-headers"),
        *((Item(b"a", b"x", method=method), "compression-method") for method in (1, 9, 12, 14, 93, 98)),
        (Item(b"a", b"x", local_name=b"b"), "archive-headers"),
        (Item(b"a", b"x", local={"size": 2}), "archive-headers"),
        (Item(b"a", b"x", local={"crc": 2}), "archive-headers"),
        (Item(b"a", b"x", central={"crc": 2}, local={"crc": 2}), "checksum"),
        (Item(b"a", b"x", comment=b"hi"), "archive-headers"),
        (Item(b"a", b"x", extra=UNICODE_PATH), "archive-headers"),
        (Item(b"a", b"x", extra=SAME_PATH * 2), "archive-headers"),
        (Item(b"a", b"x", extra=ZIP64), "archive-zip64"),
        (Item(b"a", b"x", extra=b"\1"), "archive-malformed"),
        (Item(b"a", b"x", extra=b"\1\2\xff\xff"), "archive-malformed"),
        (Item(b"a", b"x", central={"size": 0xFFFFFFFF, "packed": 0xFFFFFFFF}), "archive-zip64"),
        (Item(b"a", b"x", flags=STREAMED), "lying-size"),
        (Item(b"a", b"x", flags=STREAMED, descriptor=descriptor(b"x", 9)), "lying-size"),
        (Item(b"a", b"x", flags=STREAMED, local={"size": 9}, descriptor=descriptor(b"x")), "archive-headers"),
        (Item(b"a", b"x", descriptor=descriptor(b"x")), "archive-gap"),
        (Item(b"d/", b"x", mode=0o40755), "folder-with-content"),
        (Item(b"a", b"x" * 99, DEFLATED, central={"size": 10}, local={"size": 10}), "lying-size"),
        (Item(b"a", b"x" * 99, DEFLATED, central={"size": 100}, local={"size": 100}), "lying-size"),
    ],
    ids=range(27),
)
def test_an_entry_with_false_headers_is_refused(tmp_path: Path, item: Item, rule: str) -> None:
    assert refused_for(skill_zip(item), tmp_path) == {rule}


@pytest.mark.parametrize("signature", [b"PK\7\x08", b""])
@pytest.mark.parametrize("local", [{}, {"crc": 0, "packed": 0, "size": 0}, {"crc": 0, "packed": 0}])
def test_sizes_may_follow_the_data(tmp_path: Path, signature: bytes, local: dict[str, int]) -> None:
    item = Item(b"a", b"x", flags=STREAMED, local=local, descriptor=descriptor(b"x", signature=signature))
    assert refused_for(skill_zip(item, Item(b"b", b"y", extra=SAME_PATH.replace(b"a", b"b"))), tmp_path) == set()


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (GOOD + b"x", "archive-trailing"),
        (GOOD + GOOD, "archive-gap"),
        (b"#!/bin/sh\n" + GOOD, "archive-gap"),
        (raw_zip(Item(b"SKILL.md", SKILL), before=b"GIF89a"), "archive-overlap"),
        (raw_zip(Item(b"SKILL.md", SKILL), gap=b"hidden"), "archive-gap"),
        (skill_zip(comment=b"hello"), "archive-trailing"),
        (skill_zip(comment=b"g" * 40), "archive-trailing"),
        (skill_zip(count=2), "archive-headers"),
        (skill_zip(count=0), "archive-headers"),
        (skill_zip(count=0xFFFF), "archive-zip64"),
        (skill_zip(count=2001), "too-many-entries"),
        (skill_zip(start=0xFFFFFFFF), "archive-zip64"),
        (skill_zip(start=0xFFFFFFF0), "archive-gap"),
        (skill_zip(length=7), "archive-gap"),
        (skill_zip(Item(b"a", b"x", central={"start": 10**6})), "archive-overlap"),
        (skill_zip(Item(b"a", b"x", central={"start": 0})), "archive-overlap"),
        (b"", "archive-malformed"),
        (b"PK", "archive-malformed"),
        (b"PK\5\6" + bytes(18), "no-skill-file"),
        (b"not a zip at all, and long enough to hold an end record", "archive-malformed"),
        (skill_zip(Item(b"a", b"hello")).replace(b"hello", b"hellx"), "checksum"),
    ],
    ids=range(21),
)
def test_an_invalid_archive_is_refused(tmp_path: Path, data: bytes, rule: str) -> None:
    assert refused_for(data, tmp_path) == {rule}


def test_only_the_comment_of_git_archive_is_allowed(tmp_path: Path) -> None:
    assert refused_for(skill_zip(comment=b"0123456789" * 4), tmp_path) == set()


def test_a_zip_truncated_at_any_byte_is_refused(tmp_path: Path) -> None:
    for tenth in range(1, 10):
        assert refused_for(GOOD[: len(GOOD) * tenth // 10], tmp_path)


def test_a_tarball_under_another_name_is_refused(tmp_path: Path) -> None:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("SKILL.md"))
    assert refused_for(file.getvalue(), tmp_path) == {"archive-malformed"}
    assert refused_for(gzip.compress(GOOD), tmp_path) == {"archive-malformed"}


@pytest.mark.parametrize("name", [b"a", b"b"])
def test_entries_that_share_bytes_are_refused(tmp_path: Path, name: bytes) -> None:
    kernel = bytes(1_000_000)
    first, second = Item(b"a", kernel, DEFLATED), Item(name, kernel, DEFLATED, central={"start": 0})
    assert refused_for(raw_zip(first, second), tmp_path) & {"archive-overlap", "duplicate-name"}


def test_no_more_than_the_declared_size_is_inflated(tmp_path: Path) -> None:
    item = Item(b"a", bytes(50_000_000), DEFLATED, central={"size": 10}, local={"size": 10})
    archive = Archive(io.BytesIO(skill_zip(item)), DEFAULT_LIMITS)
    inflated = 0
    with pytest.raises(PackageRefused):
        for chunk in archive.chunks("a"):
            inflated += len(chunk)
    assert inflated <= 11


def test_a_bomb_is_refused_without_being_inflated(tmp_path: Path) -> None:
    for size, rule in ((30_000_000, "file-too-large"), (9_000_000, "ratio")):
        assert rule in refused_for(skill_zip(Item(b"zeros", bytes(size), DEFLATED)), tmp_path)
    small = [Item(b"%d" % number, bytes(1_000_000), DEFLATED) for number in range(9)]
    assert refused_for(skill_zip(*small), tmp_path) == {"ratio"}


BOMB = """
import resource, sys, pathlib
from registry.packages.package import read_zip
from registry.packages.refusal import PackageRefused
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    read_zip(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
except PackageRefused:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_a_gigabyte_in_a_megabyte_costs_no_memory(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("SKILL.md", SKILL)
        with archive.open("zeros", "w") as zeros:
            for _ in range(1024):
                zeros.write(bytes(1024 * 1024))
    command = [sys.executable, "-c", BOMB, str(tmp_path / "bomb.zip"), str(tmp_path / "staged")]
    environment = {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60, env=environment)
    assert int(done.stdout) < 32 * 1024  # kilobytes
    assert not (tmp_path / "staged").exists()
