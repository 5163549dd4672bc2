"""`skill-registry dev eval`: measure search quality on labelled queries."""

import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import click
import msgspec

from embeddings import EmbeddingUnavailable
from registry.cli import command, console
from registry.cli.help.settings_options import settings_options
from registry.config.settings import Settings
from registry.database import open_database
from registry.db import DatabaseError
from registry.domain.counts import counted
from registry.evaluation.corpus_index import IncompleteIndex
from registry.evaluation.dataset import Dataset, DatasetError, read_dataset
from registry.evaluation.feedback import chosen_skills
from registry.evaluation.report import REPORTED, EvaluationReport, evaluate
from registry.indexing.embedder import choose_embedder

_TITLES = {"ndcg@10": "nDCG@10", "hit@1": "right first", "recall@5": "R@5", "recall@10": "R@10", "mrr@10": "MRR@10"}


@click.command("eval")
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder with corpus.jsonl, queries.jsonl and qrels.tsv.",
)
@click.option("--from-feedback", is_flag=True, help="Measure the queries for which callers chose skills.")
@command.json_option
@settings_options("data_dir", "database.url", "embedding.provider", "embedding.model", "embedding.dimension")
def evaluation(data: Path | None, from_feedback: bool, as_json: bool, **flags: Any) -> None:
    """Measure search quality on labelled queries. The configured model is used.

    The queries are those of --data, or with --from-feedback the choices of the catalog, measured without what search
    has learned from them. Indexes the corpus in a temporary folder; the catalog is not changed. Prints means over the
    queries in percent, with 95 % bootstrap intervals, and the differences to simpler rankings.
    """
    if (data is not None) == from_feedback:
        command.stop("give one of --data and --from-feedback", command.WRONG_USAGE)
    settings = command.load(flags)
    try:
        dataset = read_dataset(data) if data is not None else _choices(settings)
        report = _evaluated(dataset, settings, hidden=as_json)
    except (DatabaseError, DatasetError, IncompleteIndex, EmbeddingUnavailable, OSError) as error:
        command.stop(error)
    console.show(msgspec.to_builtins(report), _tables, as_json=as_json)


def _choices(settings: Settings) -> Dataset:
    path = settings.database_path
    if path is not None and not path.is_file():
        raise DatasetError(f"there is no catalog at {path}: set --data-dir or --database-url")
    with closing(open_database(settings)) as database:
        return chosen_skills(database)


def _evaluated(dataset: Dataset, settings: Settings, *, hidden: bool) -> EvaluationReport:
    embedder = choose_embedder(settings)
    with (
        tempfile.TemporaryDirectory(prefix="skill-registry-eval-") as folder,
        console.progress_bar("Embedding", hidden=hidden) as progress,
    ):
        return evaluate(dataset, Path(folder), embedder, progress)


def _tables(report: console.Data) -> Iterator[console.Part]:
    documents, queries = counted(report["documents"], "document"), counted(report["queries"], "query")
    yield f"{report['data']}: {documents}, {queries}, model {report['space']}"
    yield _table("Ranking", report["results"])
    if report["differences"]:
        yield _table(f"{report['measured']} minus", report["differences"], sign="+")


def _table(title: str, rows: console.Data, sign: str = "") -> console.Part:
    cells = ([name, *(_cell(values[measure], sign) for measure in REPORTED)] for name, values in rows.items())
    return console.table((title, *(_TITLES[measure] for measure in REPORTED)), cells)


def _cell(interval: console.Data, sign: str) -> str:
    mean, low, high = (100 * interval[bound] for bound in ("mean", "low", "high"))
    return f"{mean:{sign}.1f} ({low:{sign}.1f} to {high:{sign}.1f})"
