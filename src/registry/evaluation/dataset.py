"""Labelled data sets: documents, queries, and which documents are relevant to which query."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from registry.evaluation.measures import Gains


class DatasetError(ValueError):
    """A data set cannot be used. The message names the file and the line."""


class Entry(msgspec.Struct, frozen=True):
    """A document of the corpus."""

    id: str
    name: str
    description: str | None = None
    tags: list[str] | None = None
    text: str | None = None


class LabelledQuery(msgspec.Struct, frozen=True):
    """A query."""

    id: str
    text: str


_Line = TypeVar("_Line", Entry, LabelledQuery)


class Dataset(NamedTuple):
    """A corpus, the queries that have a relevant document in it, and the gains of those documents by query id."""

    name: str
    corpus: list[Entry]
    queries: list[LabelledQuery]
    gains: dict[str, Gains]


def read_dataset(folder: Path) -> Dataset:
    """Read `corpus.jsonl`, `queries.jsonl` and `qrels.tsv` of a folder. Raises DatasetError, OSError."""
    corpus = _read_jsonl(folder / "corpus.jsonl", Entry)
    queries = _read_jsonl(folder / "queries.jsonl", LabelledQuery)
    gains = read_qrels(folder / "qrels.tsv")
    documents = {entry.id for entry in corpus}
    unknown = sorted({document for relevant in gains.values() for document in relevant} - documents)
    if unknown:
        raise DatasetError(f"{folder / 'qrels.tsv'}: no document '{unknown[0]}' in corpus.jsonl")
    labelled = [query for query in queries if query.id in gains]
    if not labelled:
        raise DatasetError(f"{folder / 'qrels.tsv'}: no query of queries.jsonl has a relevant document")
    return Dataset(folder.resolve().name, corpus, labelled, gains)


def read_qrels(path: Path) -> dict[str, Gains]:
    """Return the gain of each relevant document, by query. Raises DatasetError, OSError."""
    gains: dict[str, dict[str, float]] = {}
    for number, line in _lines(path):
        try:
            query, document, gain = line.split("\t")
            value = float(gain)
        except ValueError:
            raise DatasetError(f"{path}:{number}: need query id, document id and gain, with tabs between") from None
        if not math.isfinite(value):
            raise DatasetError(f"{path}:{number}: the gain must be a finite number")
        if value > 0:
            gains.setdefault(query, {})[document] = value
    return dict(gains)


def _read_jsonl(path: Path, line_type: type[_Line]) -> list[_Line]:
    decoder = msgspec.json.Decoder(line_type)
    lines: dict[str, _Line] = {}
    for number, line in _lines(path):
        try:
            decoded = decoder.decode(line)
        except msgspec.MsgspecError as error:
            raise DatasetError(f"{path}:{number}: {error}") from None
        if decoded.id in lines:
            raise DatasetError(f"{path}:{number}: the id '{decoded.id}' is there twice")
        lines[decoded.id] = decoded
    return list(lines.values())


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield number, line.rstrip("\r\n")
    except UnicodeDecodeError:
        raise DatasetError(f"{path}: not UTF-8 text") from None
