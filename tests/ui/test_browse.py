"""Finding skills: the list by source, search as one types, filters, the URL, the keyboard."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from support.pages import ListedServer, Watched

Show = Callable[..., Page]


def names(page: Page) -> list[str]:
    return page.locator(".card a.open").all_inner_texts()


def test_without_words_skills_are_listed_by_source_with_their_number(show: Show) -> None:
    page = show()
    expect(page.get_by_role("searchbox")).to_be_focused()
    expect(page.locator("h2.source").first).to_have_text("local 17")
    expect(page.locator(".line-up [role=status]")).to_have_text("137 skills")
    library = page.get_by_role("link", name="library 120")
    library.click()
    expect(page.locator(".line-up [role=status]")).to_have_text("120 skills")
    expect(page.get_by_text("burnt not read")).to_be_visible()


def test_the_list_grows_as_it_is_scrolled_to_its_end(show: Show) -> None:
    page = show("/?source=library")
    expect(page.locator(".card").first).to_be_visible()
    assert page.locator(".card").count() < 120
    for _ in range(1000):
        page.mouse.wheel(0, 20_000)
        page.wait_for_timeout(20)
        if page.locator("#results > li").count() == 120:
            break
    expect(page.locator("#results > li")).to_have_count(120)


def test_typing_finds_a_skill_and_says_why(show: Show) -> None:
    page = show()
    page.keyboard.type("messy csv")
    expect(page.locator(".card a.open").first).to_have_text("csv-cleanup")
    expect(page.locator(".card .why").first).to_have_text("Matched by words")
    expect(page.locator(".line-up [role=status]")).to_contain_text("keyword")
    page.wait_for_url("**q=messy+csv*")  # what is found may stand there before the last letters do
    page.reload()
    expect(page.locator(".card a.open").first).to_have_text("csv-cleanup")


def test_why_a_skill_has_its_rank_is_asked_for_when_somebody_wants_to_know(show: Show) -> None:
    page = show("/?q=messy+csv")
    first = page.locator(".card").first
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.post_data or "") if "search" in request.url else None)
    expect(first.locator(".explanation table")).to_have_count(0)
    first.get_by_text("Why this rank?").click()
    expect(first.locator(".explanation")).to_contain_text("Evidence")
    expect(first.locator(".explanation tbody tr").first).to_contain_text("description")
    page.locator(".card").nth(1).get_by_text("Why this rank?").click()
    expect(page.locator(".card").nth(1).locator(".explanation")).to_contain_text("Evidence")
    assert len([body for body in asked if '"explain":true' in body]) == 1


def test_an_explanation_that_fails_says_so_and_can_be_asked_for_again(watched: Watched, server: ListedServer) -> None:
    page = watched.open(server.url, "/?q=messy+csv")
    expect(page.locator(".card .explanation").first).to_be_visible()
    page.route("**/api/v1/search", lambda route: route.abort())
    watched.expected.append("Failed to load resource")
    summary = page.locator(".card").first.get_by_text("Why this rank?")
    summary.click()
    expect(page.locator(".explanation [role=status]").first).to_have_text("The service does not answer")
    page.unroute("**/api/v1/search")
    summary.click()
    summary.click()
    expect(page.locator(".card").first.locator(".explanation")).to_contain_text("Evidence")


def test_an_old_answer_does_not_replace_a_newer_one(show: Show) -> None:
    page = show()
    expect(page.locator(".card").first).to_be_visible()
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route) if "csv" in (route.request.post_data or "") else route.continue_()

    page.route("**/api/v1/search", hold)
    page.get_by_role("searchbox").fill("csv")
    while not held:
        page.wait_for_timeout(10)
    page.get_by_role("searchbox").fill("travel")
    expect(page.locator(".card a.open").first).to_have_text("travel-itinerary")
    held[0].abort()
    page.wait_for_timeout(100)
    expect(page.locator(".card a.open").first).to_have_text("travel-itinerary")


def test_filters_combine_stand_in_the_url_and_are_gone_back_from(show: Show) -> None:
    page = show()
    page.get_by_role("link", name=re.compile("^Installed")).click()
    expect(page.locator(".line-up [role=status]")).to_have_text("17 skills")
    page.locator(".filters .choice", has_text="git").first.click()
    expect(page.locator(".line-up [role=status]")).to_have_text("2 skills")
    assert "status=installed&tag=git" in page.url
    page.go_back()
    expect(page.locator(".line-up [role=status]")).to_have_text("17 skills")
    page.get_by_role("button", name="Clear all").click()
    expect(page.locator(".line-up [role=status]")).to_have_text("137 skills")


def test_filters_are_those_of_the_search_too(show: Show) -> None:
    page = show("/?q=shelf&status=installed")
    expect(page.locator("#found .title")).to_have_text("No skill passes these filters")
    page.get_by_role("button", name="Clear the filters").click()
    expect(page.locator(".card a.open").first).to_contain_text("shelf-")


@pytest.mark.parametrize(("value", "first"), [("name", "accessibility-audit"), ("risk", "hostile-hidden")])
def test_the_list_is_sorted(show: Show, value: str, first: str) -> None:
    page = show()
    expect(page.locator(".card").first).to_be_visible()
    page.get_by_label("Sort by").select_option(value)
    expect(page.locator(".card a.open").first).to_have_text(first)
    assert f"sort={value}" in page.url


def test_every_flow_can_be_done_with_the_keyboard(show: Show) -> None:
    page = show("/?q=csv")
    expect(page.locator(".line-up [role=status]")).to_contain_text(" ms")  # what was searched for, not the list before
    page.keyboard.press("ArrowDown")
    expect(page.locator(".card a.open").first).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".detail h1").first).to_contain_text("csv-cleanup")
    page.keyboard.press("Escape")
    expect(page.locator(".card").first).to_be_visible()
    page.locator("body").click(position={"x": 5, "y": 5})
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("searchbox")).to_have_value("")


def test_nothing_found_is_said(show: Show) -> None:
    page = show("/?q=zzzzqqqq")
    expect(page.locator("#found .title")).to_have_text("No skill fits")
    expect(page.locator(".line-up [role=status]")).to_contain_text("0 skills")


def test_a_service_that_is_gone_is_said_and_asked_again(watched: Watched, server: ListedServer) -> None:
    watched.expected = ["ERR_FAILED", "ERR_INTERNET_DISCONNECTED"]
    page = watched.open(server.url)
    expect(page.locator(".card").first).to_be_visible()
    page.route("**/api/v1/search", lambda route: route.abort())
    page.get_by_role("searchbox").fill("csv")
    expect(page.get_by_role("alert")).to_contain_text("The service does not answer")
    page.unroute("**/api/v1/search")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".card a.open").first).to_have_text("csv-cleanup")


@pytest.mark.parametrize("path", ["/", "/?q=csv", "/?skill=csv-cleanup", "/?view=admin"])
def test_the_page_fits_a_phone(show: Show, path: str) -> None:
    page = show(path, width=320)
    expect(page.locator("main")).to_contain_text("kill")
    expect(page.locator(".skeleton")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
