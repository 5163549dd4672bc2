"""How the service is, in the browser; and that everything on the page can be used by everybody."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from support.pages import faults

Show = Callable[..., Page]


def test_the_index_and_the_sources_are_told_with_what_is_amiss(show: Show) -> None:
    page = show("/?view=admin")
    expect(page.locator(".figure", has_text="Drift").locator("dd")).to_have_text("0")
    expect(page.locator(".sources li", has_text="burnt")).to_contain_text("cannot be read")
    page.get_by_role("button", name="Refresh all sources").click()
    expect(page.locator(".sources li", has_text="library")).to_contain_text("120 skills")


def test_reindexing_is_followed_to_its_end(show: Show) -> None:
    page = show("/?view=admin")
    page.get_by_role("button", name="Reindex everything").click()
    expect(page.locator(".reindex [role=status]")).to_contain_text("Done")
    bar = page.get_by_role("progressbar", name="Reindexing")
    assert bar.get_attribute("value") == bar.get_attribute("max")


def test_the_api_is_drawn_from_its_own_document(show: Show) -> None:
    page = show("/schema")
    expect(page.locator("[data-path='/api/v1/search']").first).to_be_visible()
    page.locator(".opblock-summary").first.click()
    expect(page.locator(".opblock-body").first).to_be_visible()


@pytest.mark.parametrize(
    ("path", "scheme"),
    [
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
    page = show()
    page.get_by_role("button", name="Uninstall csv-cleanup").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    assert faults(page) == []
