"""Snippets: the words that the index matches are the words that are marked, in any text, in bounded time."""

import pytest

from search.lexical.schema import document_terms
from search.scripts import divided
from search.snippets import PASSAGE_CHARACTERS, body_snippet, description_snippet, wanted


def marked(query: str, text: str) -> list[str]:
    snippet = description_snippet(text, wanted(query))
    return [] if snippet is None else [snippet.text[start:end] for start, end in snippet.ranges]


@pytest.mark.parametrize(
    ("query", "text", "words"),
    [
        ("hoping happiness", "He hopes to be happy. Hope!", ["hopes", "happy", "Hope"]),
        ("resumes", "A Résumé, a RESUME; presume nothing", ["Résumé", "RESUME"]),
        ("pdf form", "apdf pdf_forms pdf2", ["pdf", "forms"]),
        ("数据分析", "用于数据分析和可视化", ["数据分析"]),
        ("the", "the one", ["the"]),
        ("pdf form", "PDF — Form “FORMS” 🎉", ["PDF", "Form", "FORMS"]),
        ("λόγος", "ΛΌΓΟΣ — λόγος", ["ΛΌΓΟΣ", "λόγος"]),
        ("документ", "ДОКУМЕНТ", ["ДОКУМЕНТ"]),
        ("absent", "nothing of it", []),
        ("🎉 \x00", "🎉 party", []),
    ],
)
def test_the_matched_words_are_marked_in_any_inflection(query: str, text: str, words: list[str]) -> None:
    assert marked(query, text) == words


@pytest.mark.parametrize(
    "text", ["Relational databases: relate, relating", "sensibility and sensible abilities", "flies fly"]
)
def test_every_word_that_the_index_has_can_be_marked(text: str) -> None:
    for word in text.replace(",", "").replace(":", "").split():
        assert word in marked(word, text)
        same = [
            other
            for other in text.replace(",", "").replace(":", "").split()
            if document_terms(other) == document_terms(word)
        ]
        assert marked(word, text) == same


def test_a_passage_of_a_body_is_where_most_words_are_without_markup() -> None:
    body = (
        "# Deploy\n\n"
        + "Nothing is here. " * 100
        + "\n## Deploy with **helm**\n- charts for `kubernetes`\n"
        + "more " * 500
    )
    snippet = body_snippet(body, wanted("deploy helm kubernetes"))
    assert snippet is not None
    assert "Deploy with helm charts for kubernetes" in snippet.text
    assert snippet.text.startswith("…") or snippet.text.endswith("…")
    assert len(snippet.text) <= PASSAGE_CHARACTERS + 2
    assert {snippet.text[start:end] for start, end in snippet.ranges} == {"Deploy", "helm", "kubernetes"}


def test_a_frequent_word_does_not_hide_the_others() -> None:
    body = f"{'Run tests of tests. ' * 200}Roll a chart back. {'Tests, tests. ' * 200}"
    snippet = body_snippet(body, wanted("tests chart roll"))
    assert snippet is not None
    assert {"Roll", "chart"} <= {snippet.text[start:end] for start, end in snippet.ranges}


def test_looks_that_other_words_leave_are_used() -> None:
    text = f"{'tests ' * 30}{'x ' * 300}charts of a pipeline release: tests, more tests"
    assert marked("tests charts pipeline release zeta eta theta iota", text)[-2:] == ["tests", "tests"]


@pytest.mark.parametrize("before", ["word " * 100, "—" * 500 + " "])
def test_the_words_of_a_cut_text_are_marked_where_they_are(before: str) -> None:
    text = f"{before}Fill a PDF form. {'more ' * 100}of the form"
    snippet = description_snippet(text, wanted("pdf form"))
    assert snippet is not None
    assert snippet.text.startswith("…")
    assert snippet.text.endswith("…")
    assert [snippet.text[start:end] for start, end in snippet.ranges] == ["PDF", "form"]


def test_a_match_that_is_cut_is_marked_as_far_as_it_is_shown() -> None:
    snippet = description_snippet("错误。" + "请帮我" * 60 + "哈哈哈哈" * 100, wanted("哈哈"))
    assert snippet is not None
    assert [snippet.text[start:end] for start, end in snippet.ranges] == [snippet.text.strip("…")[60:]]


def test_a_cut_text_has_no_white_space_at_its_ends() -> None:
    snippet = description_snippet(f"{'word ' * 60}\n\n  The PDF\n {' ' * 300} form", wanted("pdf"))
    assert snippet is not None
    assert snippet.text.strip("…") == snippet.text.strip("…").strip()


@pytest.mark.parametrize(
    "text", ["pdf " * 20_000, "pdf" * 20_000, "xpdf" * 20_000, "a" * 90_000, "数据" * 30_000, "\u0130" * 9000]
)
def test_hostile_texts_give_short_passages_with_ranges_inside(text: str) -> None:
    terms = wanted("pdf a 数据 İ " + " ".join(f"pd{letter}" for letter in "abcdefgh"))
    for find in (body_snippet, description_snippet):
        snippet = find(text, terms)
        if snippet is not None:
            assert len(snippet.text) <= PASSAGE_CHARACTERS + 100
            ends = [0, *(place for found in snippet.ranges for place in found), len(snippet.text)]
            assert ends == sorted(ends)
            assert len(divided(snippet.text)) >= 1
