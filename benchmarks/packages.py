"""What reading and checking a package costs, beside decompressing and hashing the same bytes.

    python benchmarks/packages.py [--megabytes 10] [--texts DIR] [--folder DIR] [--json OUT]

The package holds text as skills have it: front matter and prose, of words made up or, with `--texts`, of the Markdown
files below a folder. Both sides unpack every entry; ours also checks names, records, sizes and contents, looks into the
texts for what is dangerous, writes the files and hashes the tree. Creating files is the file system's own time, and
much of it on a busy disk: `--folder` says where they are written, and writing the same bytes alone is shown beside it.
Medians of several rounds, in each of which all sides take their turn.
"""

import argparse
import hashlib
import random
import resource
import shutil
import statistics
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from rich.console import Console
from rich.table import Table

from registry.findings.engine import scan_folder
from registry.packages.limits import PackageLimits
from registry.packages.package import read_zip
from results_file import keep

ROUNDS = 15
FILE_BYTES = 64 << 10
FRONT = "---\nname: large-package\ndescription: A package that is as large as packages get.\n---\n# Steps\n"


def made_up(size: int, seed: int = 1) -> Iterator[bytes]:
    """Yield files of 64 KiB of made-up words."""
    drawn = random.Random(seed)
    words = ["".join(drawn.choices("abcdefghijklmnopqrstuvwxyz", k=drawn.randint(2, 11))) for _ in range(8000)]
    for _ in range(size // FILE_BYTES):
        lines = []
        while sum(map(len, lines)) < FILE_BYTES:
            lines.append(" ".join(drawn.choices(words, k=12)) + "\n")
        yield "".join(lines)[:FILE_BYTES].encode()


def real(folder: Path, size: int) -> Iterator[bytes]:
    """Yield files of 64 KiB out of the Markdown below a folder."""
    text, paths = b"", sorted(folder.rglob("*.md"))
    random.Random(1).shuffle(paths)
    for path in paths:
        text += path.read_bytes() if path.is_file() else b""
        if len(text) >= size:
            break
    yield from (text[start : start + FILE_BYTES] for start in range(0, min(size, len(text)), FILE_BYTES))


def write_package(target: Path, files: Iterable[bytes]) -> None:
    """Write a zip of a SKILL.md and these files."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("SKILL.md", FRONT)
        for number, data in enumerate(files):
            archive.writestr(f"references/part-{number:03}.md", data)


def decompress_and_hash(package: Path) -> None:
    """Do what cannot be left out: unpack every entry, and hash what comes out."""
    with zipfile.ZipFile(package) as archive:
        for entry in archive.infolist():
            digest = hashlib.sha256()
            with archive.open(entry) as stream:
                while chunk := stream.read(64 << 10):
                    digest.update(chunk)


def write_files(files: Mapping[str, bytes], folder: Path) -> None:
    """Do what the file system takes of it: create the same files with the same bytes."""
    (folder / "references").mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)


def measure(package: Path, folder: Path) -> dict[str, float]:
    """Return the medians of all sides, in milliseconds, and their ratios."""
    with zipfile.ZipFile(package) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    unpacked, written = folder / "unpacked", folder / "written"
    sides: dict[str, Callable[[], object]] = {
        "decompress and hash, ms": lambda: decompress_and_hash(package),
        "write the same files, ms": lambda: write_files(files, written),
        "read and check, ms": lambda: read_zip(package, unpacked, PackageLimits()),
        "look into the texts again, ms": lambda: scan_folder(unpacked),
    }
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(ROUNDS):
        for name, side in sides.items():
            started = time.perf_counter()
            side()
            times[name].append(1000 * (time.perf_counter() - started))
        shutil.rmtree(unpacked)
        shutil.rmtree(written)
    figures = {name: statistics.median(taken) for name, taken in times.items()}
    limit, writing, ours, _ = figures.values()
    return figures | {"ratio (asked: <= 2)": ours / limit, "ratio without writing": (ours - writing) / limit}


def main() -> None:
    """Measure one package."""
    parser = argparse.ArgumentParser(description="Measure reading a package beside unpacking it.")
    parser.add_argument("--megabytes", type=int, default=10)
    parser.add_argument("--texts", type=Path, help="folder with Markdown to fill the package with")
    parser.add_argument("--folder", type=Path, help="folder to unpack in, of the system's temporary files")
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    size = arguments.megabytes << 20
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        package = Path(name) / "package.zip"
        write_package(package, real(arguments.texts, size) if arguments.texts else made_up(size))
        decompress_and_hash(package)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        read_zip(package, Path(name) / "first", PackageLimits())
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        figures = measure(package, Path(name)) | {"memory grown, MB": grown}
    table = Table("figure", "measured", title=f"a package of {arguments.megabytes} MB")
    for figure, value in figures.items():
        table.add_row(figure, f"{value:,.2f}")
    Console().print(table)
    keep(arguments.json, figures)


if __name__ == "__main__":
    main()
