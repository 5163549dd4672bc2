"""`skill-registry dev eval` and what it is made of: measures by hand, baselines, intervals, and what it refuses."""

import json
from pathlib import Path

import numpy as np
import pytest

from registry.database.sqlite import SqliteDatabase
from registry.evaluation.corpus_index import IncompleteIndex
from registry.evaluation.dataset import DatasetError, read_dataset
from registry.evaluation.intervals import interval, resamples
from registry.evaluation.measures import MEASURES
from registry.evaluation.rankings import convex_combination, reciprocal_rank_fusion
from registry.evaluation.report import evaluate
from support.catalogs import HashingEmbedder
from support.commands import Done
from support.servers import RunningServer, write_skill

CORPUS = [
    {"id": "pdf", "name": "pdf-forms", "description": "Fill in pdf forms"},
    {"id": "sql", "name": "sql-review", "description": "Review sql queries", "text": "slow joins"},
    {"id": "trip", "name": "travel-plan", "description": "Plan a journey with trains", "tags": ["rail"]},
]
QUERIES = [{"id": "1", "text": "slow joins"}, {"id": "2", "text": "rail"}, {"id": "3", "text": "unlabelled"}]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "labelled"
    folder.mkdir()
    for name, rows in (("corpus", CORPUS), ("queries", QUERIES)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "qrels.tsv").write_text("1\tsql\t1\n2\ttrip\t2\n2\tpdf\t0\n")
    return folder


def test_measures_are_those_counted_by_hand() -> None:
    ranking, gains = ["x", "a", "y", "b"], {"a": 1.0, "b": 1.0}
    measured = {name: round(measure(ranking, gains), 4) for name, measure in MEASURES.items()}
    ndcg = (1 / np.log2(3) + 1 / np.log2(5)) / (1 + 1 / np.log2(3))
    assert measured == {
        "ndcg@10": round(float(ndcg), 4),
        "hit@1": 0,
        "recall@1": 0,
        "recall@5": 1,
        "recall@10": 1,
        "mrr@10": 0.5,
    }


def test_simple_rankings_are_their_formulas() -> None:
    words, cosines = {1: 8.0, 2: 6.0, 3: 4.0}, {2: 0.9, 4: 0.5}
    assert convex_combination(words, cosines) == {1: 0.5, 2: 0.75, 3: 0.0, 4: 0.0}
    assert reciprocal_rank_fusion(words, cosines) == {1: 1 / 61, 2: 1 / 62 + 1 / 61, 3: 1 / 63, 4: 1 / 62}


def test_intervals_are_the_same_every_time_and_narrow_with_more_queries() -> None:
    few, many = np.array([0.0, 1.0] * 10), np.array([0.0, 1.0] * 1000)
    first, again, narrow = interval(few, resamples(20)), interval(few, resamples(20)), interval(many, resamples(2000))
    assert first == again
    assert (first.mean, narrow.mean) == (0.5, 0.5)
    assert first.low < narrow.low < 0.5 < narrow.high < first.high
    assert narrow.high - narrow.low == pytest.approx(2 * 1.96 * 0.5 / 2000**0.5, rel=0.1)


def test_a_data_set_is_measured_in_every_ranking(data: Path, tmp_path: Path) -> None:
    (tmp_path / "index").mkdir()
    report = evaluate(read_dataset(data), tmp_path / "index", HashingEmbedder(), lambda done, total: None)
    assert (report.documents, report.queries, report.measured) == (3, 2, "hybrid")
    assert list(report.results) == ["keyword", "vectors", "rrf", "simple hybrid", "hybrid"]
    assert list(report.differences) == ["keyword", "vectors", "rrf", "simple hybrid"]
    assert report.results["keyword"]["ndcg@10"].mean == 1.0
    for name, difference in report.differences.items():
        hybrid, other = (report.results[ranking]["ndcg@10"].mean for ranking in ("hybrid", name))
        assert difference["ndcg@10"].mean == pytest.approx(hybrid - other, abs=2e-4)


def test_an_index_without_all_vectors_is_refused(data: Path, tmp_path: Path) -> None:
    (tmp_path / "index").mkdir()
    with pytest.raises(IncompleteIndex, match=r"1 of 3 documents have no vector.*refused"):
        evaluate(read_dataset(data), tmp_path / "index", HashingEmbedder(refuses="sql"), lambda done, total: None)


@pytest.mark.parametrize(
    ("file", "text", "reason"),
    [
        ("qrels.tsv", "1 sql 1\n", r"qrels.tsv:1: need query id"),
        ("qrels.tsv", "1\tsql\tnan\n", r"qrels.tsv:1: the gain must be a finite number"),
        ("qrels.tsv", "1\tabsent\t1\n", r"no document 'absent'"),
        ("qrels.tsv", "9\tsql\t1\n", r"no query of queries.jsonl"),
        ("corpus.jsonl", '{"id": "a"}\n', r"corpus.jsonl:1: .*name"),
        ("queries.jsonl", '{"id": "1", "text": "a"}\n{"id": "1", "text": "b"}\n', r"queries.jsonl:2: .*twice"),
        ("queries.jsonl", "{\n", r"queries.jsonl:1: "),
    ],
)
def test_a_faulty_data_set_is_refused_with_file_and_line(data: Path, file: str, text: str, reason: str) -> None:
    (data / file).write_text(text)
    with pytest.raises(DatasetError, match=reason):
        read_dataset(data)


def test_the_command_prints_tables_or_json_without_a_catalog(data: Path) -> None:
    done = Done(data.parent, "eval", "--data", str(data))
    assert (done.code, done.error) == (0, "")
    assert "labelled: 3 documents, 2 queries" in done.out
    figures = Done(data.parent, "eval", "--data", str(data), "--json").json
    assert figures["results"]["keyword"]["hit@1"] == {"mean": 1.0, "low": 1.0, "high": 1.0}
    assert (figures["space"], figures["measured"], figures["differences"]) == (None, "keyword", {})


def test_the_command_says_what_is_missing(data: Path) -> None:
    (data / "qrels.tsv").unlink()
    Done(data.parent, "eval", "--data", str(data)).complains(1, "qrels.tsv")


def test_the_choices_of_a_catalog_are_measured_without_what_search_learned_from_them(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "pdf", "Fill in pdf forms.", examples='["of the author"]')
    write_skill(tmp_path / "skills", "sql", "Review sql queries.")
    words = ("--embedding-provider", "none")
    with RunningServer(tmp_path, *words) as server:
        for query, skill_id, outcome in (
            ("a form for taxes", "pdf", "chosen"),
            ("queries that are slow", "sql", "helped"),
            ("review a form", "pdf", "wrong"),
        ):
            body = {"search_id": server.search(query)["search_id"], "skill_id": skill_id, "outcome": outcome}
            assert server.api("POST", "/search/feedback", json=body).is_success
    data_dir = ("--data-dir", str(server.data_dir))
    figures = Done(tmp_path, "eval", "--from-feedback", *data_dir, *words, "--json").json
    assert (figures["data"], figures["documents"], figures["queries"]) == ("choices", 2, 2)
    assert figures["results"]["keyword"]["hit@1"]["mean"] == 1.0
    both = Done(tmp_path, "eval", "--from-feedback", "--data", str(tmp_path))
    both.complains(2, "one of --data and --from-feedback")
    Done(tmp_path, "eval").complains(2, "one of --data and --from-feedback")
    Done(tmp_path, "eval", "--from-feedback", "--data-dir", str(tmp_path / "none")).complains(1, "no catalog at")


def test_a_catalog_without_choices_says_so(tmp_path: Path) -> None:
    SqliteDatabase(tmp_path / "skill-registry.db").close()
    Done(tmp_path, "eval", "--from-feedback", "--data-dir", str(tmp_path)).complains(1, "no choices yet")
