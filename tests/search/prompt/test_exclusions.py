"""What a request excludes is not first, and what only sounds like an exclusion is."""

from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from search.engine import Engine
from search.prompt.exclusions import exclusions, without_exclusions
from support.engines import engine_over, page

SKILLS = [
    ("playwright-browser", "Automate the browser with Playwright", "playwright browser tests"),
    ("selenium-browser", "Automate the browser through drivers", "browser tests"),
    ("zero-downtime-deploy", "Deploy without downtime", "deploy a service without downtime"),
    ("deploy-helper", "Deploy a service", "deploy steps"),
    ("free-prompts-for-selenium", "A collection of prompts", "prompts"),
    ("slack-messages", "Send Slack messages and read Slack's channels, by CSS.", "messages"),
    ("transcribe-cloud", "Transcribe a recording into text with Deepgram", "transcribe a recording into text"),
    ("transcribe-local", "Transcribe a recording, no Deepgram key needed", "transcribe on this machine"),
    *((f"other-{n}", f"Something about topic{n} and subject{n}", "text") for n in range(60)),
]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with engine_over(SKILLS, tmp_path_factory.mktemp("excluded")) as filled:
        yield filled


@pytest.mark.parametrize(
    "form",
    [
        "automate the browser, not with {}",
        "automate the browser without {}",
        "automate the browser without using {}",
        "automate the browser, no {} please",
        "automate the browser instead of {}",
        "anything but {} to automate the browser",
        "Automate the browser. Don't use {}.",
        'automate the browser (not "{}")',
        "automate the browser except {}",
        "automate the browser, I want to avoid {}",
        "automate the browser with something other than {}",
        "an alternative to {} to automate the browser",
        "automate the browser with a tool that isn't {}",
        "automate the browser without puppeteer or {}",
    ],
)
def test_what_is_excluded_is_not_first(engine: Engine, form: str) -> None:
    for name in ("playwright", "Playwright"):
        assert page(engine, form.format(name))[0].id == "selenium-browser"


@pytest.mark.parametrize(
    "prompt",
    [
        "automatizar las pruebas del browser sin usar playwright",
        "automatiser les tests du browser sans playwright",
        "die Browser Tests bitte ohne Playwright automatisieren",
        "automatizza i test del browser senza playwright",
        "автоматизируй тесты browser без playwright",
        "不用playwright做automate the browser through drivers",
        "playwrightを使わずにautomate the browser through driversを自動化して",
        "playwright 없이 browser 테스트를 자동화해줘",
    ],
)
def test_what_is_excluded_in_another_language_is_not_first(engine: Engine, prompt: str) -> None:
    assert page(engine, prompt)[0].id == "selenium-browser"


@pytest.mark.parametrize(
    "prompt",
    ["alternatives to playwright", "is there a free alternative to Playwright?", "an alternative to playwright"],
)
def test_an_alternative_to_a_skill_is_what_does_the_same(engine: Engine, prompt: str) -> None:
    assert page(engine, prompt)[0].id == "selenium-browser"


def test_what_the_background_of_a_ticket_excludes_is_not_first(engine: Engine) -> None:
    prompt = "Task: automate the browser\nConstraints: without playwright"
    assert page(engine, prompt)[0].id == "selenium-browser"


def test_a_name_that_begins_with_free_is_excluded_too(engine: Engine) -> None:
    assert page(engine, "automate the browser without selenium")[0].id == "playwright-browser"


def test_a_name_that_only_descriptions_have_excludes_those_that_need_it(engine: Engine) -> None:
    assert page(engine, "transcribe a recording into text")[0].id == "transcribe-cloud"
    assert page(engine, "transcribe a recording into text without deepgram")[0].id == "transcribe-local"


@pytest.mark.parametrize(
    "prompt",
    [
        "playwright is not working",
        "why is playwright not starting the browser",
        "not only playwright for the browser",
        "I cannot get playwright to run",
        "playwright browser tests, not sure how",
        "playwright does not find the browser",
        "automate the browser where no playwright is installed, or set up playwright",
        "edit scripts to avoid playwright faults of the browser",
        "there's no playwright for the browser, what now",
        "no playwright in the browser project, please create one",
        "a playwright browser that is not starting",
    ],
)
def test_what_only_sounds_excluded_is_first(engine: Engine, prompt: str) -> None:
    assert page(engine, prompt)[0].id == "playwright-browser"


def test_what_no_skill_is_called_is_a_quality_that_is_wanted(engine: Engine) -> None:
    assert page(engine, "deploy a service without interruption")[0].id in ("deploy-helper", "zero-downtime-deploy")
    assert page(engine, "deploy without downtime")[0].id == "zero-downtime-deploy"


def test_the_phrase_is_left_out_of_the_text() -> None:
    text = "unit tests for Vue (not React), please"
    assert [each.thing for each in exclusions(text)] == ["React"]
    assert without_exclusions(text, exclusions(text)) == "unit tests for Vue , please"


@pytest.mark.parametrize("thing", ["—", "§", "🙂", "…", "''", "x" * 70, "— playwright", "\u0301", "🙂 browser"])
def test_a_thing_without_a_word_excludes_nothing(engine: Engine, thing: str) -> None:
    for form in ("automate the browser without {}", "automate the browser, not {}", "automate the browser ({})"):
        assert {hit.id for hit in page(engine, form.format(thing))} >= {"playwright-browser", "selenium-browser"}


@settings(max_examples=200, deadline=None)
@example(["don't use", "\r:", "without", "¼100"])  # a side without evidence
@given(
    words=st.lists(st.sampled_from(["without", "not", "no", "except", "instead of", "don't use"]) | st.text(max_size=8))
)
def test_any_text_has_an_answer(engine: Engine, words: list[str]) -> None:
    page(engine, " ".join(("browser", *words)))
