"""A skill that a prompt names comes first, and a word that only happens to be some skill's name does not."""

from collections.abc import Iterator

import pytest

from search.engine import Engine
from support.engines import engine_over, page

SKILLS = (
    ("git-commit-helper", "Writes messages for commits"),
    ("weather", "Tells whether it rains tomorrow"),
    ("test", "Runs checks of a project"),
    ("kubectl", "Talks to clusters"),
    ("acme/invoice_tool", "Books invoices"),
    ("report", "Prints tables"),
    ("login-page-tester", "Fill in the login page and test it, report what fails in the login page"),
)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with engine_over([(name, text, text) for name, text in SKILLS], tmp_path_factory.mktemp("named")) as filled:
        yield filled


@pytest.mark.parametrize(
    ("prompt", "name"),
    [
        ("/git-commit-helper test the login page and report", "git-commit-helper"),
        ("use the git commit helper skill to test the login page", "git-commit-helper"),
        ("Test the login page with the Git Commit Helper skill.", "git-commit-helper"),
        ("test the login page with git_commit_helper", "git-commit-helper"),
        ("in my git-commit-helper, test the login page", "git-commit-helper"),
        ("use the weather skill to test the login page", "weather"),
        ("/weather test the login page", "weather"),
        ("@weather, test the login page", "weather"),
        ("Use the skill called weather and test the login page", "weather"),
        ('use "weather" for this: test the login page', "weather"),
        ("what does the `weather` skill say about the login page", "weather"),
        ("test the login page using kubectl", "kubectl"),
        ("use the login page to test it with kubectl", "kubectl"),
        ("connect the login page with git-commit-helper", "git-commit-helper"),
        ("/acme/invoice_tool test the login page", "acme/invoice_tool"),
        ("/plugin:weather test the login page", "weather"),
        ("test the login page, then /weather", "weather"),
        ("test the login page and run /weather on it", "weather"),
        ("test the login page\n/weather", "weather"),
        ("the test of the login page is for @git-commit-helper", "git-commit-helper"),
        ("npx skills add acme/test-login-page --skill weather", "weather"),
        ("npx skills add acme/test-login-page --skill=weather -g", "weather"),
    ],
)
def test_a_named_skill_is_first(engine: Engine, prompt: str, name: str) -> None:
    best = page(engine, prompt)[0]
    assert (best.id, best.relevance) == (name, "high")


@pytest.mark.parametrize(
    "prompt",
    [
        "test the login page and report",
        "use test data for the login page",
        "create a report skill for the login page test",
        "the login page in rainy weather, test it",
        "compare the login page with kubectl, test the login page",
        "replace what fails in the login page with kubectl",
        "look at /srv/test/login/page and test the login page",
        "I need a new test skill for the login page",
        "# Test\nthe login page",
        "## Weather\n### Report\ntest the login page",
        "$ test the login page",
        "Bug: / test of the login page is red",
        "the /weather page and the login page, test both",
        "GET /report of the login page fails, test it",
        "post in #weather when the test of the login page fails",
        f"{'login page ' * 400}\nGET /weather\n{'test it ' * 400}",
    ],
)
def test_a_common_word_names_no_skill(engine: Engine, prompt: str) -> None:
    assert page(engine, prompt)[0].id == "login-page-tester"
