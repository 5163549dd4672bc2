"""What a kB costs each parser of text from outside: the dearest document found, and real skills.

    python benchmarks/hostile_documents.py [--skills DIR] [--mixed 300] [--json OUT]

The documents are each parser's tokens alone, in pairs and in random order, and cases known to be slow, all at the
largest size that is read. The dearest ten are measured again, and the least time of three counts.
"""

import argparse
import heapq
import itertools
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from registry.domain.models import NewSkill
from registry.errors import RegistryError
from registry.parsing.frontmatter import FrontMatterError, read
from registry.parsing.markdown import MAX_RENDERED, render_markdown
from registry.parsing.strict_json import decode
from registry.parsing.toml_text import load_toml
from registry.publish.index_lines import merged
from registry.sources.marketplace import UnreadableDocument, parse_document, remote_listing
from results_file import keep

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from support import hostile_documents
from support.cost import cpu_seconds

AGAIN = 10


class Parser(NamedTuple):
    """A parser, what it raises for a document it refuses, and documents of a size."""

    parse: Callable[[str], object]
    refusal: type[Exception] | tuple[type[Exception], ...]
    size: int
    texts: Callable[[int], Iterator[tuple[str, str]]]
    tokens: tuple[str, ...] = ()
    before: str = ""


PARSERS = {
    "Markdown": Parser(
        render_markdown, (), MAX_RENDERED - 1_000, hostile_documents.markdown, hostile_documents.MARKDOWN
    ),
    "front matter": Parser(read, (), 16_000, hostile_documents.front_matter, hostile_documents.YAML, "---\n"),
    "front matter, strictly": Parser(
        lambda text: read(f"{text}\n---\n", strict=True),
        FrontMatterError,
        16_000,
        hostile_documents.front_matter,
        hostile_documents.YAML,
        "---\nname: a\n",
    ),
    "TOML": Parser(
        lambda text: load_toml(text.encode()), ValueError, 64_000, hostile_documents.toml, hostile_documents.TOML
    ),
    "JSON body": Parser(
        lambda text: decode(text.encode(), NewSkill), RegistryError, 1_000_000, hostile_documents.json_bodies
    ),
    "marketplace document": Parser(
        lambda text: remote_listing(parse_document(text.encode()), str),
        UnreadableDocument,
        500_000,
        hostile_documents.marketplaces,
    ),
    "lines of a shared index": Parser(
        lambda text: merged("a/b", b"", text.encode()), (), 1_000_000, hostile_documents.index_files
    ),
}


def dearest(parser: Parser, mixed: int) -> dict[str, Any]:
    """Return the document that costs most per kB, and what it costs."""
    texts = itertools.chain(
        parser.texts(parser.size),
        hostile_documents.combined(parser.tokens, parser.size, parser.before, pairs=True),
        hostile_documents.mixed(parser.tokens, parser.size, parser.before, count=mixed if parser.tokens else 0),
    )
    count, found = 0, []
    for name, text in texts:
        count += 1
        kilobytes = len(text.encode()) / 1_000
        heapq.heappush(found, (_seconds(parser, text, time.thread_time) / kilobytes, kilobytes, name, text))
        found = heapq.nlargest(AGAIN, found)
    cost, kilobytes, name = max(
        (cpu_seconds(lambda text=text: _parse(parser, text)) / size, size, name)  # type: ignore[misc]
        for _, size, name, text in found
    )
    return {
        "documents": count,
        "dearest": name,
        "kilobytes": round(kilobytes, 1),
        "ms": round(1_000 * cost * kilobytes, 1),
        "ms_per_kb": round(1_000 * cost, 3),
    }


def _seconds(parser: Parser, text: str, clock: Callable[[], float]) -> float:
    started = clock()
    _parse(parser, text)
    return clock() - started


def _parse(parser: Parser, text: str) -> None:
    with suppress(parser.refusal):
        parser.parse(text)


def real_skills(folder: Path) -> dict[str, Any]:
    """Return what a kB of real skills costs the parsers that read them."""
    texts = [path.read_text(errors="replace") for path in sorted(folder.rglob("SKILL.md")) if path.is_file()]
    kilobytes = sum(len(text.encode()) for text in texts) / 1_000
    figures: dict[str, Any] = {"skills": len(texts), "kilobytes": round(kilobytes)}
    for name in ("Markdown", "front matter"):
        spent = sum(_seconds(PARSERS[name], text, time.thread_time) for text in texts)
        figures[f"{name}, ms_per_kb"] = round(1_000 * spent / kilobytes, 3)
    return figures


def main() -> None:
    """Measure every parser."""
    arguments = argparse.ArgumentParser(description="Measure what hostile documents cost.")
    arguments.add_argument("--skills", type=Path, help="folder with skills below it")
    arguments.add_argument("--mixed", type=int, default=300, help="documents in random order for each parser")
    arguments.add_argument("--json", type=Path, help="file for the results")
    options = arguments.parse_args()
    table = Table("parser", "documents", "dearest", "kB", "ms", "ms/kB", title="The dearest document of each parser")
    results: dict[str, Any] = {}
    for name, parser in PARSERS.items():
        results[name] = figures = dearest(parser, options.mixed)
        table.add_row(name, *(str(value)[:50] for value in figures.values()))
    Console().print(table)
    if options.skills:
        results["real skills"] = real_skills(options.skills)
        Console().print(results["real skills"])
    keep(options.json, {"results": results})


if __name__ == "__main__":
    main()
