"""Published skills in the browser: the line that installs them, and everything that is in their package."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from support.pages import Watched, faults
from support.publishing import Registry, skill_package
from support.servers import RunningServer, bearer, new_skill

PACKAGE = skill_package("whittle", body="# Carving\n\nSee [the woods](references/woods.md).\n")

Enter = Callable[..., Page]


@pytest.fixture(scope="module")
def publishing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with Registry(tmp_path_factory.mktemp("published")) as running:
        running.finished(running.publish(PACKAGE))
        running.api("POST", "/skills", json=new_skill("plain-one"), headers=bearer(running.token()))
        yield running


def signed_in(watched: Watched, url: str, path: str = "/", role: str = "user", **options: str) -> Page:
    page = watched.open(url, path, **options)
    page.get_by_role("button", name="Sign in").first.click()
    page.get_by_label("Role").select_option(role)
    page.get_by_role("dialog").get_by_role("button", name="Sign in").click()
    expect(page.locator(".card, .markdown").first).to_be_visible()
    return page


@pytest.fixture
def enter(watched: Watched, publishing: Registry) -> Enter:
    return lambda *args, **options: signed_in(watched, publishing.url, *args, **options)


def command(publishing: Registry) -> str:
    return f"skill-registry install acme/whittle --from {publishing.url}"


@pytest.mark.parametrize("path", ["/", "/?q=whittle", "/?skill=acme%2Fwhittle"])
def test_the_line_that_installs_a_skill_is_copied_with_the_keyboard(
    enter: Enter, publishing: Registry, path: str
) -> None:
    page = enter(path)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    expect(page.get_by_text(command(publishing))).to_be_visible()
    page.get_by_role("button", name="Copy: install acme/whittle").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").get_by_text("Copied")).to_have_count(1)
    assert page.evaluate("navigator.clipboard.readText()") == command(publishing)
    expect(page.get_by_role("button", name="Install whittle", exact=True)).to_have_count(0)


def test_without_a_clipboard_the_line_is_selected(enter: Enter, publishing: Registry) -> None:
    page = enter()
    page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")  # as over plain HTTP
    page.get_by_role("button", name="Copy: install acme/whittle").click()
    assert page.evaluate("String(getSelection())") == command(publishing)


def test_the_line_names_the_address_at_which_others_reach_the_registry(watched: Watched, tmp_path: Path) -> None:
    with Registry(tmp_path, "--public-url", "https://skills.example.com/team/") as registry:
        registry.finished(registry.publish(PACKAGE))
        page = signed_in(watched, registry.url)
        line = page.locator(".card .copyable code")
        expect(line).to_have_text("skill-registry install acme/whittle --from https://skills.example.com/team")


def test_a_record_says_that_it_is_one_and_has_no_line(enter: Enter) -> None:
    page = enter("/?q=plain-one")
    card = page.locator(".card", has_text="plain-one")
    expect(card.locator(".badge").first).to_have_text("record")
    expect(card.locator(".copyable")).to_have_count(0)


@pytest.mark.parametrize("path", ["/", "/?skill=acme%2Fwhittle"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_of_it_stands_in_the_way_of_anybody(enter: Enter, path: str, scheme: str) -> None:
    page = enter(path, "manager", color_scheme=scheme)
    assert faults(page) == []
    page.set_viewport_size({"width": 320, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


@pytest.fixture
def follower(publishing: Registry, tmp_path: Path) -> Iterator[RunningServer]:
    """A local service that has the registry as a source."""
    admin = bearer(publishing.token())
    made = publishing.api("POST", "/auth/keys", json={"name": "reader", "role": "user"}, headers=admin)
    source = {"name": "corp", "url": publishing.url, "api_key": made.json()["data"]["key"]}
    with RunningServer(tmp_path, "--outbound-allowed-host", publishing.url.removeprefix("http://")) as running:
        assert running.api("POST", "/registry/sources", json=source).json()["data"]["error"] is None
        running.wait_for(lambda: running.found("whittle") == ["corp/acme.whittle"])
        yield running


@pytest.mark.parametrize("path", ["/?q=whittle", "/?source=corp", "/?skill=corp%2Facme.whittle"])
def test_a_skill_of_another_registry_is_installed_and_uninstalled(
    watched: Watched, follower: RunningServer, path: str
) -> None:
    page = watched.open(follower.url, path)
    expect(page.locator(":is(.card, .detail) .badge").first).to_have_text("available")
    page.get_by_role("button", name="Install whittle", exact=True).click()
    expect(page.locator(".badge.installed")).to_be_visible()
    installed = follower.skills_dir / "whittle" / "SKILL.md"
    assert "# Carving" in installed.read_text()
    page.get_by_role("button", name="Uninstall whittle").click()
    page.get_by_role("dialog").get_by_role("button", name="Uninstall").click()
    expect(page.get_by_role("button", name="Install whittle", exact=True)).to_be_visible()
    assert not installed.exists()
