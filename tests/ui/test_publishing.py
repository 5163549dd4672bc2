"""Publishing in the browser: a zip, or a folder, becomes a version everybody sees, or is refused with the reasons."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from support.pages import Watched
from support.publishing import Registry, skill_package
from support.zips import plain_zip

Enter = Callable[[], Page]


@pytest.fixture(scope="module")
def publishing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with Registry(tmp_path_factory.mktemp("publishing")) as running:
        yield running


@pytest.fixture
def enter(watched: Watched, publishing: Registry) -> Enter:
    def enter() -> Page:
        page = watched.open(publishing.url, "/registry")
        page.get_by_role("button", name="Sign in").first.click()
        page.get_by_label("Role").select_option("manager")
        page.get_by_role("dialog").get_by_role("button", name="Sign in").click()
        page.get_by_role("link", name="Publish").click()
        expect(page.get_by_role("heading", name="Publish a skill")).to_be_visible()
        return page

    return enter


def choose(page: Page, folder: Path, package: bytes) -> None:
    path = folder / "package.zip"
    path.write_bytes(package)
    page.locator("input[type=file]").set_input_files(path)


def test_a_zip_is_published_and_then_found(enter: Enter, publishing: Registry, tmp_path: Path) -> None:
    page = enter()
    choose(page, tmp_path, skill_package("browser-made"))
    expect(page.get_by_role("status").get_by_text("Published")).to_be_visible()
    expect(page.get_by_role("heading", name="dev-user/browser-made 1.0.0")).to_be_visible()
    assert publishing.get("/api/v1/skills/dev-user%2Fbrowser-made").status_code == 200
    page.goto("/?q=browser-made")
    expect(page.locator(".card").first).to_contain_text("dev-user/browser-made")


def test_a_package_that_breaks_rules_is_refused_with_the_reasons(
    enter: Enter, watched: Watched, tmp_path: Path
) -> None:
    watched.expected = ["400"]
    page = enter()
    choose(page, tmp_path, plain_zip({"notes.md": b"no skill"}))
    expect(page.get_by_role("alert")).to_contain_text("SKILL.md")
