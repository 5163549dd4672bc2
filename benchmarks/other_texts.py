"""Writes texts of all trades, one a line, for `distill.py`: glosses of WordNet and descriptions of Debian packages.

    apt-get download wordnet-base && dpkg -x wordnet-base_*.deb wordnet
    python benchmarks/other_texts.py --wordnet wordnet/usr/share/wordnet > texts

The descriptions are those that `apt-cache` knows, so this runs on Debian after `apt-get update`.
"""

import argparse
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

_DESCRIPTION = re.compile(r"^Description(?:-en)?: (.*(?:\n .*)*)", re.MULTILINE)
_WORDS = range(3, 46)


def glosses(folder: Path) -> Iterator[str]:
    """Yield the parts of the glosses: definitions and examples."""
    for kind in ("noun", "verb", "adj", "adv"):
        for line in (folder / f"data.{kind}").read_text(encoding="latin-1").splitlines():
            entry, _, gloss = line.partition("|")
            if gloss and not entry.startswith("  "):
                yield from (part.strip(' "') for part in gloss.split(";"))


def descriptions() -> Iterator[str]:
    """Yield the sentences of the descriptions of packages."""
    known = subprocess.run(["apt-cache", "dumpavail"], check=True, capture_output=True).stdout.decode(errors="replace")
    for described in _DESCRIPTION.findall(known):
        title, _, text = described.partition("\n")
        yield title
        yield from re.split(r"(?<=[.!?])\s+", " ".join(text.split()))


def main() -> None:
    """Print each text once."""
    parser = argparse.ArgumentParser(description="Write texts of all trades.")
    parser.add_argument("--wordnet", type=Path, required=True, help="folder with the data files of WordNet")
    found = {*glosses(parser.parse_args().wordnet), *descriptions()}
    print("\n".join(sorted(text for text in found if len(text.split()) in _WORDS)))


if __name__ == "__main__":
    main()
