"""Spelling: what a misspelled, joined or divided word is searched as."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from search.lexical.edits import edits, one_edit_away
from search.lexical.index import LexicalIndex
from search.lexical.spelling import DISCOUNT, Spelling, spell
from search.types import Document, DocumentGone, DocumentPut, Filter

TEXTS = {
    "kubernetes-deploy": "Roll out the deployment of containers to a cluster.",
    "terraform-plan": "Plan infrastructure before a deployment.",
    "github-actions": "Write workflows for GitHub.",
    "fastapi-service": "Make an HTTP service with FastAPI.",
    "powerpoint": "Make presentations.",
    "pdf-extract": "Extract tables from PDF files.",
    "json-tools": "Format a JSON document.",
    "trap": "Catch signals.",
    "wrap": "Fill lines of text.",
}


def put(key: int, name: str) -> DocumentPut:
    return DocumentPut(key, Document(key=key, id=name, name=name, description=TEXTS[name], body="frobnikator"))


@pytest.fixture(params=[len(TEXTS), 4, 0], ids="{} flushed".format)
def index(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LexicalIndex]:
    monkeypatch.setattr("search.lexical.index.FLUSH_SECONDS", 3600.0)
    index = LexicalIndex(tmp_path / "index", "catalog")
    for key, name in enumerate(TEXTS, 1):
        index.apply([put(key, name)], key)
        if key == request.param:
            index.flush()
    yield index
    index.close()


def used(index: LexicalIndex, query: str) -> dict[str, list[str]]:
    return {each.word: each.used for each in spell(index.reader, query).corrections}


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("kuberntes", "kubernetes"),
        ("kubrenets", "kubernetes"),
        ("teraform deploymnt", "terraform deployment"),
        ("pdf extarct", "pdf extract"),
        ("KUBERNTES", "kubernetes"),
        ("kuberntes_deploymnt-extarct", "kubernetes_deployment-extract"),
        ("Kuberntes, please!", "kubernetes, please!"),
        ("ukbernetes", "kubernetes"),
        ("jsno", "json"),
        ("infrastr", "infrastructure"),
        ("githubactions", "github actions"),
        ("kuber netes deploymnt", "kubernetes deployment"),
    ],
)
def test_a_word_that_no_skill_contains_is_searched_as_the_nearest_one(
    index: LexicalIndex, query: str, text: str
) -> None:
    assert spell(index.reader, query).text == text


def test_one_skill_that_lists_misspellings_takes_no_queries(tmp_path: Path) -> None:
    """It would otherwise switch off the correction of everybody, and be the best for each of its misspellings."""
    index = LexicalIndex(tmp_path / "index", "catalog")
    names = [f"docker-{number}" for number in range(20)] + [f"python-{number}" for number in range(20)]
    for key, name in enumerate(names, 1):
        tool, _, number = name.partition("-")
        description = f"Compose {tool} set{number} for testing of scripts."
        index.apply([DocumentPut(key, Document(key=key, id=name, name=name, description=description))], key)
    listed = Document(key=99, id="evil", name="spelling-aid", description="Helps with dokcer, pyhton and wrike.")
    index.apply([DocumentPut(99, listed)], 99)
    for query, meant in (("dokcer compose", "docker"), ("pyhton", "python")):
        spelling = spell(index.reader, query)
        assert (spelling.text, spelling.corrections, list(spelling.joined)) == (query, (), [meant])
        best = index.reader.search(spelling.terms, 10, Filter()).keys.tolist()
        assert best[0] != 99
    for query in ("wrike", "DokceR", "pyhton" + " scripts" * 40):
        assert not spell(index.reader, query).joined
    index.close()


@pytest.mark.parametrize(
    "query",
    [
        "trap",  # known, although `wrap` is near
        "frobnikator",  # in a body only
        "kubernetes2",
        "k8s-deploy4",
        "kübernetes",
        "кубернетес",
        "部署容器",
        "pfd",
        "looking",  # English
        "KUBR for containers",  # an abbreviation
        "LinkdIn",
        "qwpoe zxcmv asdlk",
        "blorptastic",
        "teraform deploymnt extarct powrpoint kuberntes",
    ],
)
def test_no_other_word_is_corrected(index: LexicalIndex, query: str) -> None:
    spelling = spell(index.reader, query)
    terms = index.reader.terms(query)
    assert spelling == Spelling(query, query, terms, terms)


def test_a_corrected_word_weighs_less(index: LexicalIndex) -> None:
    assert spell(index.reader, "pdf extarct").terms == {"pdf": 1.0, "extract": DISCOUNT}
    assert spell(index.reader, "extract extarct").terms == {"extract": 1.0}


def test_two_words_that_skills_write_as_one_are_searched_as_one_too(index: LexicalIndex) -> None:
    divided = spell(index.reader, "power point")
    assert (divided.text, divided.corrections) == ("power point", ())
    assert divided.words == "power point powerpoint"
    assert divided.terms.keys() - divided.ceiling.keys() == {"powerpoint"}
    assert index.reader.search(divided.terms, 10, Filter()).keys.tolist() == [5]


def test_words_follow_what_is_written(index: LexicalIndex) -> None:
    assert used(index, "gardning") == {}
    count = len(TEXTS)
    added = Document(key=count + 1, id="gardening", name="gardening", description="Grow roses.")
    index.apply([DocumentPut(count + 1, added)], count + 1)
    assert used(index, "gardning") == {"gardning": ["gardening"]}
    index.apply([DocumentGone(count + 2, count + 1)], count + 2)
    assert used(index, "gardning") == {}


def test_both_segments_correct_alike(tmp_path: Path) -> None:
    words = "kuberntes githubactions kubrenets infrastr"
    found = []
    for flushed in (True, False):
        index = LexicalIndex(tmp_path / str(flushed), "catalog")
        index.apply([put(key, name) for key, name in enumerate(TEXTS, 1)], len(TEXTS))
        if flushed:
            index.flush()
        found.append(spell(index.reader, words))
        index.close()
    assert found[0] == found[1]


def test_edits_are_counted_up_to_three() -> None:
    for word, other, count in (
        ("kubernetes", "kubernetes", 0),
        ("kuberntes", "kubernetes", 1),
        ("kubernteesx", "kubernetes", 2),
        ("kubernteesxy", "kubernetes", 3),
        ("kubrenets", "kubernetes", 2),
        ("abcd", "badc", 2),
        ("a", "abcdef", 3),
        ("abcdefgh", "hgfedcba", 3),
    ):
        assert edits(word, other) == edits(other, word) == count


def test_the_words_one_edit_away_are_those_of_the_distance() -> None:
    near = one_edit_away("tree")
    assert {"tre", "trree", "tere", "free", "trees", "stree"} <= near
    assert all(edits("tree", word) == 1 for word in near)
