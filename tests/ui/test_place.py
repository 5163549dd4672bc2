"""Where a visitor is on the page: kept over going back, forward and a reload."""

import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from support.pages import ListedServer, Watched
from support.servers import write_skill
from support.waiting import wait_until

Show = Callable[..., Page]

LIST = "/?source=library"
DEEP = "shelf-085"


def top(card: Locator) -> float:
    box = card.bounding_box()
    assert box
    return box["y"]


def saved(page: Page) -> None:
    """Wait until the place is written down."""
    wait_until(lambda: page.evaluate("history.state?.place?.y === scrollY"))


def scrolled_to(page: Page, name: str) -> Locator:
    """Scroll down to a skill as a visitor does, and wait until its place is written down."""
    card = page.locator(".card a.open", has_text=name)
    expect(page.locator(".card").first).to_be_visible()
    while card.count() == 0:
        page.mouse.wheel(0, 3000)
        page.wait_for_timeout(50)
    card.scroll_into_view_if_needed()
    saved(page)
    return card


@pytest.mark.parametrize("path", [LIST, "/?q=put+a+book+back&source=library&sort="])
def test_a_reload_keeps_the_place_in_a_list(show: Show, path: str) -> None:
    page = show(path)
    card = (
        scrolled_to(page, DEEP) if path == LIST else scrolled_to(page, page.locator(".card a.open").last.inner_text())
    )
    before = top(card)
    page.reload()
    expect(card).to_be_in_viewport()
    wait_until(lambda: abs(top(card) - before) < 3)


def test_going_back_after_a_reload_returns_to_the_same_place_of_the_list(show: Show) -> None:
    page = show(LIST)
    card = scrolled_to(page, DEEP)
    before = top(card)
    card.click()
    expect(page.locator(".detail h1").first).to_contain_text(DEEP)
    page.reload()
    expect(page.locator(".detail h1").first).to_contain_text(DEEP)
    page.go_back()
    expect(card).to_be_in_viewport()
    expect(card).to_be_focused()
    wait_until(lambda: abs(top(card) - before) < 3)
    page.go_forward()
    page.get_by_role("link", name="All skills").click()
    expect(card).to_be_in_viewport()


def in_another_list(page: Page) -> Locator:
    """Go from a place deep in a list to another list, and return the card of that place."""
    card = scrolled_to(page, DEEP)
    page.locator(".card", has_text=DEEP).get_by_role("link", name="books").click()
    expect(page).to_have_url(re.compile("tag=books"))
    return card


def test_another_list_begins_at_its_top_and_the_first_one_is_where_it_was(show: Show) -> None:
    page = show(LIST)
    card = in_another_list(page)
    page.go_back()
    expect(card).to_be_in_viewport()


def test_the_place_is_kept_while_a_slow_list_is_on_its_way(show: Show) -> None:
    page = show(LIST)
    card = in_another_list(page)
    expect(card).to_have_count(0)

    def late(route: Route) -> None:
        time.sleep(0.8)
        route.continue_()

    page.route(re.compile("/api/v1/skills"), late)
    page.go_back()
    expect(card).to_be_in_viewport()
    page.unroute_all()


@pytest.fixture
def anchored(server: ListedServer) -> str:
    """A skill with a long text that leads to its parts and to those of a file."""
    body = "# Long\n\n[to the end](#the-end) [to a part](notes/far%20off.md#part-2) A note[^n].\n\n"
    filler = "".join(f"Paragraph {number} of the text.\n\n" for number in range(60))
    end = "## The end\n\n[back up](#long) [named](#here)\n\n<a name='here'></a>Named place.\n\n[^n]: The note.\n"
    folder = write_skill(server.skills_dir, "long-text", "Leads to its parts", body + filler + end + filler)
    (folder / "notes").mkdir(exist_ok=True)
    (folder / "notes" / "far off.md").write_text(f"# Part\n\n{filler}# Part 2\n\n[up](../SKILL.md#the-end)\n\n{filler}")
    server.wait_for(lambda: server.api("GET", "/skills/long-text").status_code == 200)
    return "/skills/long-text"


def test_links_within_a_text_lead_there_and_back(show: Show, anchored: str) -> None:
    page = show("/?q=long-text")
    page.locator(".card a.open", has_text="long-text").click()
    page.get_by_role("link", name="to the end", exact=True).click()
    end = page.get_by_role("heading", name="The end")
    expect(end).to_be_in_viewport()
    expect(end).to_be_focused()
    page.get_by_role("link", name="named").click()
    expect(page).to_have_url(re.compile("#text-here$"))
    page.go_back()
    page.go_back()
    expect(page.get_by_role("link", name="to the end", exact=True)).to_be_in_viewport()
    page.get_by_role("link", name="Footnote n", exact=True).click()
    expect(page.get_by_text("The note.")).to_be_in_viewport()
    page.get_by_role("link", name="Back from footnote n").click()
    expect(page.get_by_text("A note")).to_be_in_viewport()
    page.locator(".back a").first.click()  # to the search, over all of these steps
    expect(page).to_have_url(re.compile(r"/\?q=long-text$"))


def test_links_to_parts_of_other_files_lead_to_the_part(show: Show, anchored: str) -> None:
    page = show(anchored)
    page.get_by_role("link", name="to a part").click()
    part = page.get_by_role("heading", name="Part 2")
    expect(part).to_be_in_viewport()
    page.reload()
    expect(part).to_be_in_viewport()
    page.get_by_role("link", name="up", exact=True).click()
    expect(page.get_by_role("heading", name="The end")).to_be_in_viewport()
    page.go_back()
    expect(part).to_be_in_viewport()


def test_a_similar_skill_opens_at_its_top_and_going_back_returns_to_the_place(show: Show, anchored: str) -> None:
    page = show(anchored)
    page.get_by_role("heading", name="The end").scroll_into_view_if_needed()
    saved(page)
    page.evaluate("document.querySelector('.similar a').click()")
    expect(page.locator(".detail h1").first).not_to_contain_text("long-text")
    assert page.evaluate("scrollY") == 0
    page.go_back()
    expect(page.get_by_role("heading", name="The end")).to_be_in_viewport()


def test_a_page_that_cannot_be_loaded_leaves_those_before_it(watched: Watched, server: ListedServer) -> None:
    watched.expected = ["net::ERR_FAILED"]
    page = watched.open(server.url, LIST)
    expect(page.locator(".card").first).to_be_visible()

    def fail(route: Route) -> Any:
        return route.abort() if "offset=40" in route.request.url else route.continue_()

    page.route("**/api/v1/skills?*", fail)
    page.mouse.wheel(0, 20_000)
    page.wait_for_timeout(100)
    page.mouse.wheel(0, 20_000)
    expect(page.get_by_text("The service does not answer")).to_be_visible()
    expect(page.locator(".card")).to_have_count(40)
    expect(page.get_by_role("status").first).to_contain_text("120 skills")
    page.unroute("**/api/v1/skills?*")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".card").nth(40)).to_be_visible()


def test_the_first_key_skips_the_filters_of_a_list(show: Show) -> None:
    page = show(LIST)
    expect(page.locator(".card").first).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("Boolean(document.activeElement.closest('.card'))")
