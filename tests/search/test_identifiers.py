"""Identifiers of code: which ones a text has, and that the only skill that has one is found first."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from search.engine import Engine
from search.identifiers import MAX_IDENTIFIERS, first_identifiers, identifiers
from search.modes import Mode
from search.requests import SearchRequest
from search.text import BODY_CHARACTERS
from support.catalogs import HashingEmbedder, SkillCatalog
from support.waiting import PATIENCE_SECONDS

BODIES = {
    "flags": "Deploy with --set-env-vars=A=1 and nothing else.",
    "snake": "Send collection_slug with every request.",
    "upper": "export SHOP_API_TOKEN=... and start the bridge.",
    "kebab": "Keep the file short-lived-credentials-broker closed.",
    "camel": "Return props from getServerSideProps().",
    "dotted": "Call torch.optim.lr_scheduler before the loop.",
    "path": "Run `{baseDir}/scripts/lib/read_pages.py` first.",
    "file": "Then edit docker-compose.override.yml by hand.",
    "error": "The warning CS8604 says that a value may be null.",
    "node": "It stops with ERR_MODULE_NOT_FOUND.",
    "rust": "error[E0502]: cannot borrow twice.",
    "windows": r"Copy it to C:\tools\sign\run_all.cmd.",
    "late": "word " * BODY_CHARACTERS + "and at last VERY_LATE_SETTING.",
}
QUERIES = {
    "flags": "--set-env-vars",
    "snake": "collection_slug",
    "upper": "SHOP_API_TOKEN",
    "kebab": "short-lived-credentials-broker",
    "camel": "getServerSideProps",
    "dotted": "torch.optim.lr_scheduler",
    "path": "scripts/lib/read_pages.py",
    "file": "docker-compose.override.yml",
    "error": "CS8604",
    "node": "ERR_MODULE_NOT_FOUND",
    "rust": "E0502",
    "windows": "sign/run_all.cmd",
    "late": "VERY_LATE_SETTING",
}
LANGUAGES = {"C++": "memory", "C#": "classes", "F#": "functions", ".NET": "runtime", "Go": "channels", "R": "plots"}
CROWD = (
    "set env vars collection slug shop api token short lived credentials broker get server side props torch optim"
    " lr scheduler scripts lib read pages py docker compose override yml cs warning err module not found tools sign"
    " run all cmd very late setting very late setting fix project build server stops update deployment release tomorrow"
)
FRAMES = ["{}", "How do I fix {} in my project?", "`{}`", "the build server stops with {}."]
MODES: list[Mode] = ["auto", "hybrid", "keyword"]


@pytest.fixture
def engine(catalog: SkillCatalog, tmp_path: Path) -> Iterator[Engine]:
    catalog.put_many((f"crowd-{number}", CROWD, CROWD) for number in range(30))
    catalog.put_many((name, f"Does {name} things", body) for name, body in BODIES.items())
    engine = Engine(catalog.documents, tmp_path / "indexes", HashingEmbedder())
    engine.start()
    engine.wait_until_embedded(PATIENCE_SECONDS)
    yield engine
    engine.close()


def ids(engine: Engine, query: str, mode: Mode = "auto") -> list[str]:
    return [hit.id for hit in engine.search.search(SearchRequest(query, mode=mode)).hits]


def test_the_only_skill_with_an_identifier_is_first(engine: Engine) -> None:
    for frame, mode in itertools.product(FRAMES, MODES):
        first = {skill: ids(engine, frame.format(query), mode)[0] for skill, query in QUERIES.items()}
        assert first == {skill: skill for skill in QUERIES}, (frame, mode)


def test_unsaved_changes_have_identifiers_too(engine: Engine, catalog: SkillCatalog) -> None:
    catalog.put("new", "Does new things", "Set NEW_API_TOKEN.")
    engine.changed()
    before = ids(engine, "set NEW_API_TOKEN in the project")
    engine.index_sync.lexical.flush()
    assert ids(engine, "set NEW_API_TOKEN in the project")[0] == before[0] == "new"


def test_an_identifier_that_all_skills_have_changes_nothing(engine: Engine, catalog: SkillCatalog) -> None:
    catalog.put_many((f"common-{number}", "Common", "Edit package.json.") for number in range(60))
    engine.changed()
    assert not any(term.startswith("=") for term in engine.index_sync.lexical.reader.terms("package.json"))


@pytest.mark.parametrize("named", ["src/components/Header.tsx", "SHOP-42"])
def test_a_file_of_the_own_project_does_not_decide(engine: Engine, catalog: SkillCatalog, named: str) -> None:
    catalog.put_many((f"project-{number}", "Shop 42: src, components, Header, tsx", "") for number in range(20))
    catalog.put("example", "Checks forms", "Run it on src/components/Header.tsx for SHOP-42.")
    catalog.put("menus", "Closes the menu on mobile screens", "")
    engine.changed()
    assert ids(engine, named)[0] == "example"
    assert ids(engine, f"{named}: the menu does not close on mobile", "keyword")[0] == "menus"


def test_a_path_counts_once(engine: Engine) -> None:
    terms = engine.index_sync.lexical.reader.terms("scripts/lib/read_pages.py")
    assert [term for term in terms if term.startswith("=")] == ["=scripts/lib/read_pages.py"]


def test_an_explanation_names_the_identifier(engine: Engine) -> None:
    hit = engine.search.search(SearchRequest("fix SHOP_API_TOKEN", explain=True)).hits[0]
    assert hit.explanation is not None
    best = hit.explanation.words[0]
    assert (best.word, best.fields) == ("shop_api_token", ["body"])


def test_names_of_languages_are_words_of_their_own(engine: Engine, catalog: SkillCatalog) -> None:
    catalog.put_many((f"about-{word}", f"{word} in {language}", "") for language, word in LANGUAGES.items())
    engine.changed()
    for language, mode in itertools.product(LANGUAGES, MODES):
        assert ids(engine, language, mode)[0] == f"about-{LANGUAGES[language]}"


def test_both_forms_of_a_language_find_it(engine: Engine, catalog: SkillCatalog) -> None:
    forms = {"C#": "csharp", "C++": "cpp", ".NET": "dotnet", "Node.js": "nodejs", "Go": "golang", "ASP.NET": "aspnet"}
    catalog.put_many((f"written-{number}", f"Tests in {written}", "") for number, written in enumerate(forms))
    catalog.put_many((f"typed-{number}", f"Trials in {typed}", "") for number, typed in enumerate(forms.values()))
    engine.changed()
    for number, query in [*enumerate(forms), *enumerate(forms.values())]:
        assert {f"written-{number}", f"typed-{number}"} <= set(ids(engine, query, "keyword"))


def test_the_parts_of_camel_case_are_searched_too(engine: Engine, catalog: SkillCatalog) -> None:
    catalog.put("observer", "Watches the resize of elements", "")
    engine.changed()
    assert "observer" in ids(engine, "elementResizeObserverHook", "keyword")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("--set-env-vars=A", ["--set-env-vars", "set-env-vars"]),
        ("a --verbose b", ["--verbose"]),
        ("$SHOP_API_TOKEN ${SHOP_API_TOKEN}", ["shop_api_token"]),
        ("./scripts/run.py", ["scripts/run.py", "run.py"]),
        (r"C:\a\run_all.cmd", ["a/run_all.cmd", "run_all.cmd", "run_all"]),
        ("使用collection_slug时", ["collection_slug"]),
        ("ＳＨＯＰ＿ＡＰＩ", ["shop_api"]),
        ("error[E0502]", ["e0502"]),
        (".eslintrc and std::vector", [".eslintrc", "std::vector"]),
        ("version 1.2.3 of 2026-11-25, 24h, C, word, - -- ._. 3rd", []),
        ("x" * 81 + "_y", []),
        ("a/" * 300 + "b_c", []),
    ],
)
def test_identifiers_of_a_text(text: str, expected: list[str]) -> None:
    assert list(identifiers(text)) == expected


def test_a_text_full_of_identifiers_is_cut() -> None:
    text = " ".join(f"name_{number}" for number in range(20_000))
    assert len(first_identifiers([text])) == MAX_IDENTIFIERS
    assert list(first_identifiers(["same_name " * 100_000, "other_name"])) == ["same_name", "other_name"]
