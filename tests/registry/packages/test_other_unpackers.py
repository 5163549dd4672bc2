"""Whatever zipfile, unzip, bsdtar or 7z see in an archive, we take or refuse the archive."""

import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from support.endurance import times
from support.unpackers import UNPACKERS
from support.zips import SKILL, Item, refused_for, skill_zip

COMPARISON = Path(__file__).parents[3] / "benchmarks" / "compare_unpackers.py"
LINK = struct.pack("<2HBHHL", 0x6C78, 9, 7, 0x0314, 0, 0o120777 << 16)
"""An extra field that makes a link of a file, for libarchive."""


@pytest.mark.parametrize(
    ("program", "item", "system", "rule"),
    [
        ("unzip", Item(b"run.sh", b"x", mode=0, attributes=8), 0, "special-file"),
        ("unzip", Item(b"notes.md;1", b"x"), 3, "path-version"),
        ("unzip", Item("é.md".encode(), b"x"), 0, "archive-headers"),
        ("unzip", Item("é.md".encode(), b"x"), 6, "archive-headers"),
        ("bsdtar", Item(b"a.md", b"/etc/passwd", extra=LINK), 3, "archive-headers"),
    ],
    ids=["label", "version", "fat", "hpfs", "link"],
)
def test_an_entry_that_a_program_sees_otherwise_is_refused(
    tmp_path: Path, program: str, item: Item, system: int, rule: str
) -> None:
    archive, folder = tmp_path / "package.zip", tmp_path / "unpacked"
    folder.mkdir()
    archive.write_bytes(skill_zip(item).replace(b"PK\1\2\x14\3", b"PK\1\2\x14" + bytes([system])))
    assert refused_for(archive.read_bytes(), tmp_path) == {rule}
    expected = {"SKILL.md": SKILL, item.name.decode(): item.data}
    assert UNPACKERS[program](archive, folder).tree != expected, "the program has changed: is the rule still needed?"


def test_declared_and_undeclared_encodings_do_not_mix(tmp_path: Path) -> None:
    # zipfile reads both names as the second one.
    items = Item("é".encode(), b"x"), Item("├⌐".encode(), b"other", flags=0x0800)
    assert refused_for(skill_zip(*items), tmp_path) == {"archive-headers"}


@pytest.mark.parametrize("kind", [0x000A, 0x5455, 0x5855, 0x7855, 0x7875, 0xCAFE])
def test_times_and_owners_in_extra_fields_are_accepted(tmp_path: Path, kind: int) -> None:
    assert refused_for(skill_zip(Item(b"a", b"x", extra=struct.pack("<2H", kind, 4) + bytes(4))), tmp_path) == set()


@pytest.mark.parametrize("archives", [1000, pytest.param(times(20_000), marks=pytest.mark.endurance)])
def test_odd_and_damaged_archives_are_seen_alike_or_refused(archives: int) -> None:
    command = [sys.executable, str(COMPARISON), "--archives", str(archives), "--seed", "7"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=times(1200), env={"PATH": os.environ["PATH"]}
    )
    assert done.returncode == 0, done.stderr
    assert f"{archives} archives" in done.stdout
    assert int(re.search(r"(\d+) taken", done.stdout)[1]) > archives // 50  # type: ignore[index]
