"""Damages good packages in every way and reads them: whatever it is, they are refused or taken, and leave nothing.

    python benchmarks/fuzz_packages.py --mutations 60000 [--seed 1]

Exits with 1, and shows how to make the package again, where anything but a refusal is raised or a file is left.
"""

import argparse
import collections
import io
import random
import shutil
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from registry.packages.package import peek, read_zip
from registry.packages.refusal import PackageRefused

SKILL = b"---\nname: pdf-forms\ndescription: Fills the fields of PDF forms.\n---\n\n# PDF forms\n"
FILES = {
    "SKILL.md": SKILL,
    "skill-project.toml": b'[metadata]\nid = "acme/pdf-forms"\nversion = "1.2.3"\n',
    "scripts/run.py": b"print('hello')\n" * 40,
    "references/f\u00e9.md": b"# More\n",
    "assets/": b"",
}
NUMBERS = (0, 1, 2, 7, 8, 9, 12, 0x2D, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFE, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFE, 0xFFFFFFFF)
MARKS = (b"PK\1\2", b"PK\3\4", b"PK\5\6", b"PK\6\6", b"PK\6\7", b"PK\7\x08")
Mutation = Callable[[bytearray, random.Random], None]


class Unseekable(io.BytesIO):
    """A stream: what is written into a zip on it has its sizes after its data."""

    def seekable(self) -> bool:
        """Say no."""
        return False

    def seek(self, *_: int) -> int:
        """Refuse."""
        raise io.UnsupportedOperation


def good_zips() -> list[bytes]:
    """Return packages that are taken: stored, deflated, streamed, and in a folder of their own."""
    zips = []
    for method, stream, top in (
        (0, io.BytesIO(), ""),
        (8, io.BytesIO(), ""),
        (8, Unseekable(), ""),
        (0, Unseekable(), "x/"),
    ):
        with zipfile.ZipFile(stream, "w", method) as archive:
            for name, data in FILES.items():
                archive.writestr(top + name, data)
        zips.append(stream.getvalue())
    return zips


def flip(data: bytearray, dice: random.Random) -> None:
    """Flip a bit."""
    data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)


def number(data: bytearray, dice: random.Random) -> None:
    """Write a number of one, two, four or eight bytes."""
    width = dice.choice((1, 2, 4, 8))
    at = dice.randrange(len(data))
    data[at : at + width] = (dice.choice(NUMBERS) % (1 << 8 * width)).to_bytes(width, "little")


def header_field(data: bytearray, dice: random.Random) -> None:
    """Write a number into a record."""
    places = [at for mark in MARKS if (at := data.find(mark, dice.randrange(len(data)))) >= 0]
    if places:
        at, width = dice.choice(places) + dice.randrange(4, 46), dice.choice((1, 2, 4))
        data[at : at + width] = (dice.choice(NUMBERS) % (1 << 8 * width)).to_bytes(width, "little")


def cut(data: bytearray, dice: random.Random) -> None:
    """Take a piece out, often the end."""
    at = dice.randrange(len(data))
    del data[at : dice.choice((len(data), at + dice.randrange(1, 64)))]


def double(data: bytearray, dice: random.Random) -> None:
    """Put a piece in once more."""
    at, length, to = dice.randrange(len(data)), dice.randrange(1, 256), dice.randrange(len(data))
    data[to:to] = data[at : at + length]


def insert(data: bytearray, dice: random.Random) -> None:
    """Put a record's mark or random bytes in."""
    at = dice.randrange(len(data) + 1)
    data[at:at] = dice.choice((*MARKS, dice.randbytes(dice.randrange(1, 32))))


def rename(data: bytearray, dice: random.Random) -> None:
    """Change a name everywhere, or in one of its places, to one of equal length."""
    old = dice.choice((b"scripts/run.py", b"SKILL.md", b"assets/"))
    new = (dice.choice((b"../", b"/", b"a\\", b"\0", b"CON", b"skill.md", b"SKILL.md", b".git/")) + old)[: len(old)]
    data[:] = data.replace(old, new, dice.choice((-1, 1)))


MUTATIONS: tuple[Mutation, ...] = (flip, number, header_field, header_field, cut, double, insert, rename)


def mutated(good: bytes, dice: random.Random) -> bytes:
    """Return a package with one to four faults."""
    data = bytearray(good)
    for _ in range(dice.choice((1, 1, 1, 2, 3, 4))):
        if data:
            dice.choice(MUTATIONS)(data, dice)
    return bytes(data)


def outcome(data: bytes, folder: Path) -> str:
    """Read a package and return `taken`, or the first rule it was refused for; raises what should not be raised."""
    staged = folder / "staged"
    with suppress(PackageRefused):
        peek(io.BytesIO(data))
    try:
        read_zip(io.BytesIO(data), staged)
        shutil.rmtree(staged)
        return "taken"
    except PackageRefused as refused:
        return refused.findings[0].rule
    finally:
        left = list(folder.iterdir())
        if left:
            raise AssertionError(f"left behind: {left}")


def main() -> int:
    """Read mutated packages and print how they fared."""
    parser = argparse.ArgumentParser(description="Read damaged packages.")
    parser.add_argument("--mutations", type=int, default=60_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    zips, outcomes, started = good_zips(), collections.Counter[str](), time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        assert all(outcome(good, Path(name)) == "taken" for good in zips)
        for turn in range(arguments.mutations):
            data = mutated(zips[turn % len(zips)], random.Random(f"{arguments.seed} {turn}"))
            try:
                outcomes[outcome(data, Path(name))] += 1
            except Exception as error:
                print(f"mutation {turn} of seed {arguments.seed}: {error!r}", file=sys.stderr)
                return 1
    for rule, count in outcomes.most_common():
        print(f"{count:8} {rule}")
    print(f"{arguments.mutations} mutations in {time.monotonic() - started:.1f} s: nothing else raised, nothing left")
    return 0


if __name__ == "__main__":
    sys.exit(main())
