"""How the service is, in the browser; and that everything on the page can be used by everybody."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from support.pages import ListedServer, faults
from support.servers import write_skill

Show = Callable[..., Page]


def test_the_index_and_the_sources_are_told_with_what_is_amiss(show: Show) -> None:
    page = show("/?view=admin")
    expect(page.locator(".figure", has_text="Drift").locator("dd")).to_have_text("0")
    expect(page.locator(".sources li", has_text="burnt")).to_contain_text("cannot be read")
    page.get_by_role("button", name="Refresh all sources").click()
    expect(page.locator(".sources li", has_text="library")).to_contain_text("120 skills")


def test_untidy_skills_are_named_with_what_is_amiss(show: Show, server: ListedServer) -> None:
    folder = write_skill(server.skills_dir, "untidy", "Is untidy: <b>colons</b>")  # no YAML: two colons in a line
    server.wait_for(lambda: "untidy" in server.status()["warnings"])
    page = show("/?view=admin")
    page.locator(".warnings summary").click()
    expect(page.locator(".warnings li", has_text="untidy")).to_contain_text("front matter is not valid")
    page.locator(".warnings a", has_text="untidy").click()
    expect(page.locator(".detail h1").first).to_contain_text(folder.name)
    assert server.api("DELETE", "/skills/untidy").status_code == 200


def test_lists_of_disabled_and_of_least_used_skills_are_a_click_away(show: Show, server: ListedServer) -> None:
    write_skill(server.skills_dir, "switched-off", "Is not found by anybody")
    server.wait_for(lambda: server.api("PUT", "/skills/switched-off", json={"enabled": False}).is_success)
    page = show("/?view=admin")
    page.get_by_role("link", name="Disabled skills").click()
    expect(page.locator(".card a.open")).to_have_text(["switched-off"])
    expect(page.locator(".filters .choice", has_text="Disabled")).to_have_attribute("aria-current", "true")
    assert server.api("DELETE", "/skills/switched-off").status_code == 200
    page.goto("/?view=admin")
    page.get_by_role("link", name="Least used skills").click()
    expect(page.get_by_label("Sort by")).to_have_value("unused")
    expect(page.locator(".card").first).to_be_visible()


def test_reindexing_is_followed_to_its_end(show: Show) -> None:
    page = show("/?view=admin")
    page.get_by_role("button", name="Reindex everything").click()
    expect(page.locator(".reindex [role=status]")).to_contain_text("Done")
    bar = page.get_by_role("progressbar", name="Reindexing")
    assert bar.get_attribute("value") == bar.get_attribute("max")


def test_the_api_is_drawn_from_its_own_document(show: Show) -> None:
    page = show("/schema")
    expect(page.locator("[data-path='/api/v1/skills']").first).to_be_visible()
    search = page.locator("[data-path='/api/v1/search']")
    for _ in range(100):  # of a large document, Swagger UI draws what is in view
        if search.count():
            break
        page.mouse.wheel(0, 500)
        page.wait_for_timeout(100)
    expect(search.first).to_be_visible()
    page.locator(".opblock-summary").first.click()
    expect(page.locator(".opblock-body").first).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_api_stands_in_nobodys_way(show: Show, scheme: str) -> None:
    page = show("/schema", color_scheme=scheme)
    page.locator(".opblock-summary-control").first.click()
    expect(page.locator(".opblock-body").first).to_be_visible()
    assert faults(page) == []


@pytest.mark.parametrize(
    ("path", "scheme"),
    [
        ("/", "light"),
        ("/", "dark"),
        ("/?source=local", "light"),
        ("/?q=csv&tag=csv", "dark"),
        ("/?skill=hostile-hidden", "light"),
        ("/?skill=csv-cleanup", "dark"),
        ("/?view=admin", "light"),
        ("/?q=zzzzqqqq", "dark"),
    ],
)
def test_nothing_stands_in_the_way_of_anybody(show: Show, path: str, scheme: str) -> None:
    page = show(path, color_scheme=scheme)
    expect(page.locator("main")).to_contain_text("kill")
    expect(page.locator(".skeleton")).to_have_count(0)
    assert faults(page) == []


def test_the_dialog_stands_in_nobodys_way(show: Show) -> None:
    page = show("/skills/csv-cleanup")
    page.get_by_role("button", name="Uninstall csv-cleanup").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    assert faults(page) == []
