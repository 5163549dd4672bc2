"""Identifiers: how often the only skill that has an identifier comes first, alone and within a sentence.

    python benchmarks/identifiers.py --data ../shared/data/eval/prompts [--json OUT]

For each kind of identifier, 60 that occur in exactly one skill of the corpus are drawn. This script finds them by its
own expressions. An identifier counts as unique only if no other skill contains it anywhere, also within a longer one.
"""

import argparse
import random
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from quality import fill, read_jsonl
from results_file import keep
from search.engine import Engine
from search.modes import Mode
from search.requests import SearchRequest

_SAMPLE = 60
_PAGE = 10
_WORD = r"[A-Za-z][A-Za-z0-9]"
KINDS = {
    "flag": r"(?<![\w-])--[a-z][a-z0-9]+(?:-[a-z0-9]+)+(?![\w-])",
    "snake_case": r"(?<![\w./-])[a-z][a-z0-9]+(?:_[a-z0-9]+)+(?![\w./-])",
    "UPPER_SNAKE": r"(?<![\w./-])[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+(?![\w./-])",
    "kebab-case": r"(?<![\w./-])[a-z][a-z0-9]+(?:-[a-z0-9]+){2,}(?![\w./-])",
    "kebab-case, two words": r"(?<![\w./-])[a-z]{3,}-[a-z]{3,}(?![\w./-])",
    "camelCase": r"(?<![\w./-])[a-z]+(?:[A-Z][a-z0-9]+){2,}(?![\w./-])",
    "dotted name": rf"(?<![\w./-]){_WORD}+(?:\.{_WORD}+){{2,}}(?![\w./-])",
    "file name": r"(?<![\w./-])\w+(?:[-_]\w+)*\.(?:py|ts|tsx|js|md|json|ya?ml|sh|toml|txt|csv)(?![\w./-])",
    "path": r"(?<![\w./-])[a-z]\w+(?:/[\w-]+)+\.[a-z]{2,4}(?![\w./-])",
    "error code": r"(?<![\w./-])[A-Z]{1,6}[0-9]{3,6}(?![\w./-])",
}
FRAMES = (
    "{}",
    "How do I fix {} in my project?",
    "The build on our server stops with {} since the last update, and I do not know which setting is wrong",
    "please set {} for the deployment before the release tomorrow",
)
MODES: tuple[Mode, ...] = ("keyword", "hybrid")


def unique_identifiers(corpus: Sequence[dict[str, str]]) -> dict[str, list[tuple[str, str]]]:
    """Return identifiers that one skill of the corpus contains, with its id, by kind."""
    texts = {one["id"]: f"{one['name']} {one.get('description') or ''} {one['text']}" for one in corpus}
    lowered = {skill: text.casefold() for skill, text in texts.items()}
    everything = "\n".join(lowered.values())
    unique: dict[str, list[tuple[str, str]]] = {}
    for kind, pattern in KINDS.items():
        holders = defaultdict(set)
        for skill, text in texts.items():
            for name in re.findall(pattern, text):
                holders[name].add(skill)
        single = sorted((name, *skills) for name, skills in holders.items() if len(skills) == 1)
        random.Random(35).shuffle(single)
        unique[kind] = []
        for name, skill in single:
            folded = name.casefold()
            if 4 <= len(name) <= 60 and everything.count(folded) == lowered[skill].count(folded):
                unique[kind].append((name, skill))
            if len(unique[kind]) == _SAMPLE:
                break
    return unique


def ranks(engine: Engine, keys: dict[int, str], named: Iterable[tuple[str, str]], frame: str, mode: Mode) -> list[int]:
    """Return the rank of the only skill that has each identifier, 0 if it is not on the page."""
    found = []
    for name, skill in named:
        hits = engine.search.search(SearchRequest(frame.format(name), limit=_PAGE, mode=mode)).hits
        page = [keys[hit.key] for hit in hits]
        found.append(page.index(skill) + 1 if skill in page else 0)
    return found


def main() -> None:
    """Measure all kinds, in all frames."""
    parser = argparse.ArgumentParser(description="Measure searches for identifiers.")
    parser.add_argument("--data", type=Path, required=True, help="folder with a corpus of skills with their texts")
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    corpus = read_jsonl(arguments.data / "corpus.jsonl")
    unique = unique_identifiers(corpus)
    table, results = Table("", "identifiers", *(f"{mode}, frame {n}" for mode in MODES for n in range(len(FRAMES)))), {}
    with tempfile.TemporaryDirectory() as folder:
        engine, keys = fill(corpus, Path(folder))
        for kind, named in unique.items():
            row = {}
            for mode in MODES:
                for number, frame in enumerate(FRAMES):
                    found = ranks(engine, keys, named, frame, mode)
                    row[f"{mode} {number}"] = {"first": found.count(1), "page": sum(map(bool, found))}
            results[kind] = {"identifiers": len(named), **row}
            table.add_row(kind, str(len(named)), *(f"{cell['first']} / {cell['page']}" for cell in row.values()))
        engine.close()
    Console(width=160).print(table)
    keep(arguments.json, {"frames": FRAMES, "first_and_on_page": results})


if __name__ == "__main__":
    main()
