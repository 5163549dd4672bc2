"""Names with the signs and words that people write around them: the skill is the exact name, and nothing else is."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from registry.database.sqlite import SqliteDatabase
from search.engine import Engine
from search.prompt.mentions import undecorated_names
from search.requests import SearchRequest
from support.catalogs import HashingEmbedder, SkillCatalog
from support.waiting import PATIENCE_SECONDS

FORMS = (
    *("/{}", "${}", "@{}", "#{}", "`{}`", '"{}"', "'{}'", "“{}”", "‘{}’", "„{}“", "«{}»", "／{}"),
    *("{}?", "{}!", "{}.", "{},", "{}:", "{}/", "{}@1.0.0", "{}@v2", "{}@^1.2", "{}@latest", "{}/SKILL.md"),
    *("{} skill", "the {} skill", "use the {} skill", "Use {} skill.", "run the {} skill", "install the {} skill"),
    *("use the skill {}", "invoke skill {}", "load the `{}` skill", 'Use the "{}" skill!', "/{} skill", "@{}@1.0.0?"),
)
FRAMES = ("use {}", "run {}", "install {}", "invoke {}", "load {}", "use the {}", "use `{}`", "install @{}@2.1.0")
SKILLS = [
    ("git-commit", "Write a message", "of a change"),
    ("pdf", "Read documents", "pages"),
    ("acme/pdf", "Read documents of a company", "pages"),
    ("test", "Check that all is well", "assertions"),
    ("4claw", "Boards", "images"),
    ("notion", "Pages and tables", "notes"),
    ("notion-skill", "Another one of pages and tables", "notes"),
    ("one-skill-to-rule-them-all", "Inspect others", "inspections"),
    ("stuffed", "use run install the git commit pdf acme test 4claw notion skill " * 8, "git commit skill md " * 100),
]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("decorated")
    database = SqliteDatabase(folder / "skills.db")
    catalog = SkillCatalog(database)
    catalog.put_many(SKILLS)
    engine = Engine(catalog.documents, folder / "indexes", HashingEmbedder())
    engine.start()
    engine.wait_until_embedded(PATIENCE_SECONDS)
    yield engine
    engine.close()
    database.close()


def exact(engine: Engine, query: str, **options: Any) -> list[str]:
    hits = engine.search.search(SearchRequest(query, explain=True, **options)).hits
    return [hit.id for hit in hits if hit.explanation is not None and hit.explanation.tier == "exact_name"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "name", ["git-commit", "Git Commit", "acme/pdf", "test", "4claw", "One skill to rule them all"]
)
def test_a_decorated_name_is_the_exact_name(engine: Engine, form: str, name: str) -> None:
    query = form.format(name)
    for mode in ("keyword", "hybrid", "semantic"):
        assert exact(engine, query, mode=mode) == [name.lower().replace(" ", "-")]
        assert engine.search.search(SearchRequest(query, mode=mode)).hits[0].score == 1


@pytest.mark.parametrize("form", FRAMES)
@pytest.mark.parametrize("name", ["git-commit", "GIT_COMMIT", "acme/pdf"])
def test_a_name_of_several_parts_needs_no_word_skill(engine: Engine, form: str, name: str) -> None:
    assert exact(engine, form.format(name)) == [name.lower().replace("_", "-")]


@pytest.mark.parametrize(
    "query",
    [
        *("use test", "run test", "run the test", "the test", "install pdf", "use git commit", "test skills"),
        *("run test of git-commit", "skill test", "the skill of pdf", "use the skill"),
        *("me@pdf", "pdf@acme", "skills/pdf/SKILL.md", "other/pdf", "@other/pdf", "/other/pdf skill"),
        *("", "?", "/", "@", "skill"),
    ],
)
def test_ordinary_words_are_not_taken_for_a_name(engine: Engine, query: str) -> None:
    assert exact(engine, query) == []


def test_a_name_that_contains_the_decoration_comes_before_one_without(engine: Engine) -> None:
    assert exact(engine, "notion") == ["notion"]
    assert exact(engine, "notion skill") == exact(engine, "use the notion skill") == ["notion-skill"]
    assert exact(engine, "use the notion-skill skill") == ["notion-skill"]
    assert exact(engine, "/notion") == ["notion"]


def test_the_words_of_the_query_stay_as_they_are(engine: Engine) -> None:
    hits = engine.search.search(SearchRequest("use the git-commit skill", mode="keyword")).hits
    assert [hit.id for hit in hits][:2] == ["git-commit", "stuffed"]


@pytest.mark.parametrize("unit", ["use the skill ", "/", "@1", "`", "- ", "a/", " /SKILL.md", "ﷺ"])
def test_a_query_has_few_names(unit: str) -> None:
    for length in (20, 100, 160, 2000):
        assert len(list(undecorated_names((unit * length)[:length]))) <= 5
    assert list(undecorated_names(f"/{unit * 2000}")) == []
