"""Compares what we take out of damaged and odd packages with what zipfile, unzip, bsdtar and 7z see in them.

    python benchmarks/compare_unpackers.py --archives 20000 [--seed 1]

Whatever one of them sees, we take or refuse the archive. Exits with 1, and names the archive, where one sees something
else. The programs are in the Debian packages unzip, libarchive-tools and p7zip-full.
"""

import argparse
import collections
import random
import struct
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fuzz_packages import good_zips, mutated
from registry.packages.package import read_zip
from registry.packages.refusal import PackageRefused
from support.unpackers import disagreements, tree
from support.zips import DEFLATED, STORED, STREAMED, Item, skill_zip

NAMES = (
    *("a", "a;1", "a.;2", "a.txt", "A.TXT", "-rf", "@list", "%41", "~x", "[1]", "a,b", "#x", "a$b", "a&b", " a", "a b"),
    *("d/", "d/e", "d/e/", "D/e", "..a", "a..", "a.", "./a", "a//b", "../a", "/a", "a/", "a\\b", "a:b", "a\tb"),
    *("SKILL.md;1", "skill.md", "é.md", "e\u0301.md", "├⌐.md", "\u202ea", "con", ".git/x"),
)
SYSTEMS = (0, 1, 2, 3, 3, 3, 3, 3, 6, 7, 10, 11, 14, 19, 255)
MODES = (0o644, 0o100755, 0o40755, 0o120777, 0o104755, 0o60644)
EXTRAS = (0x000A, 0x000D, 0x5455, 0x5855, 0x6375, 0x6C65, 0x6C78, 0x7075, 0x756E, 0x7875, 0x9901, 0xCAFE, 1, 7)
LINK = 0o120777 << 16


def extra(name: bytes, dice: random.Random) -> bytes:
    """Return an extra field, well-formed or not, that tells another mode, a link or another name."""
    kind = dice.choice(EXTRAS)
    payload = dice.choice(
        (
            b"",
            bytes(dice.randrange(32)),
            dice.randbytes(dice.randrange(32)),
            struct.pack("<BHHL", 7, 0x0314, 0, LINK),
            struct.pack("<BL", 4, LINK),
            struct.pack("<LHLHH", 0, 0o120777, 11, 0, 0) + b"/etc/passwd",
            struct.pack("<BL", 1, 0) + dice.choice((name, b"other")),
        )
    )
    return struct.pack("<2H", kind, len(payload)) + payload


def drawn_item(dice: random.Random) -> Item:
    """Return an entry with mostly honest headers."""
    name = dice.choice(NAMES).encode()
    data = b"" if name.endswith(b"/") else dice.choice((b"", b"x", b"/etc/passwd", b"word " * 99))
    flags = dice.choice((0, 0, 0, STREAMED, 0x0800, 0x0800, 1 << dice.randrange(16)))
    honest = 0o40755 if name.endswith(b"/") else 0o100644
    return Item(
        name,
        data,
        dice.choice((STORED, DEFLATED)),
        flags,
        dice.choice((honest, honest, 0, dice.choice(MODES))),
        dice.choice((0, 0, 0, 0x20, 1 << dice.randrange(16))),
        extra(name, dice) if dice.random() < 0.2 else b"",
        local_name=dice.choice((None, None, None, None, b"b")),
    )


def drawn_zip(dice: random.Random) -> bytes:
    """Return an archive of a good SKILL.md and a few drawn entries, made by a drawn system."""
    data = bytearray(skill_zip(*(drawn_item(dice) for _ in range(dice.randrange(1, 4)))))
    at, made_by = -1, bytes((dice.choice((10, 20, 45, 50, 63)), dice.choice(SYSTEMS)))
    while (at := data.find(b"PK\1\2", at + 1)) >= 0:
        data[at + 4 : at + 6] = made_by
    return bytes(data)


def drawn(turn: int, seed: int) -> bytes:
    """Return the archive of a turn, damaged or drawn."""
    dice = random.Random(f"{seed} {turn}")
    zips = good_zips()
    return drawn_zip(dice) if turn % 2 else mutated(zips[turn // 2 % len(zips)], dice)


def compared(data: bytes, folder: Path) -> str:
    """Return `taken`, or the rule an archive was refused for. Raises AssertionError where a program sees otherwise."""
    archive = folder / "package.zip"
    archive.write_bytes(data)
    try:
        read_zip(archive, folder / "staged")
    except PackageRefused as refused:
        return refused.findings[0].rule
    found = disagreements(archive, tree(folder / "staged"), folder)
    assert not found, "; ".join(found)
    return "taken"


def main() -> int:
    """Compare archives and print how they fared."""
    parser = argparse.ArgumentParser(description="Compare unpackers.")
    parser.add_argument("--archives", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    outcomes, started, failures = collections.Counter[str](), time.monotonic(), 0
    for turn in range(arguments.archives):
        with tempfile.TemporaryDirectory() as name:
            try:
                outcomes[compared(drawn(turn, arguments.seed), Path(name))] += 1
            except AssertionError as error:
                failures += 1
                print(f"archive {turn} of seed {arguments.seed}: {error}", file=sys.stderr)
    for rule, count in outcomes.most_common():
        print(f"{count:8} {rule}")
    print(f"{arguments.archives} archives in {time.monotonic() - started:.1f} s: {failures} seen otherwise")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
