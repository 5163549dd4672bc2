"""Finding skills: the list by source, search as one types, filters, the URL, the keyboard."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from support.pages import ListedServer, Watched
from support.servers import RunningServer, write_copies, write_skill
from support.waiting import wait_until

Show = Callable[..., Page]


def names(page: Page) -> list[str]:
    return page.locator(".card a.open").all_text_contents()


def test_the_start_says_what_this_is_and_what_there_is(show: Show) -> None:
    page = show()
    expect(page.get_by_role("searchbox")).to_be_focused()
    expect(page.get_by_role("heading", level=1)).to_have_text("Find the skill your agent needs")
    expect(page.locator(".card, .action")).to_have_count(0)
    expect(page.locator("section[aria-label=New] li")).to_have_count(6)
    expect(page.locator(".topics a").first).to_have_text("books 120")
    example = page.locator(".examples a").first
    query = str(example.text_content())
    example.click()
    expect(page.get_by_role("searchbox")).to_have_value(query)
    expect(page.locator(".card").first).to_be_visible()
    expect(page).to_have_title(f"{query} · Skill Registry")
    page.go_back()
    expect(page).to_have_title("Skill Registry")
    page.get_by_role("link", name="Browse all 137 skills").click()
    expect(page.locator(".line-up [role=status]")).to_have_text("137 skills")
    page.get_by_role("link", name="Skill Registry", exact=True).click()
    expect(page.locator(".hero")).to_be_visible()


def test_without_words_skills_are_listed_by_source_with_their_number(show: Show) -> None:
    page = show("/?view=skills")
    expect(page.get_by_role("heading", level=1)).to_have_text("Skills")
    expect(page.locator("h2.source").first).to_have_text("local 17")
    expect(page.locator(".line-up [role=status]")).to_have_text("137 skills")
    library = page.get_by_role("link", name="library 120")
    library.click()
    expect(page.locator(".line-up [role=status]")).to_have_text("120 skills")
    expect(page.get_by_text("burnt not read")).to_be_visible()


def test_near_copies_share_a_card_that_names_them(watched: Watched, tmp_path: Path) -> None:
    write_copies(tmp_path / "skills", "backup", "backup-2", "my-backup")
    with RunningServer(tmp_path) as running:
        page = watched.open(running.url, "/?q=encrypted+archive")
        expect(page.locator(".card")).to_have_count(1)
        expect(page.locator(".line-up [role=status]")).to_contain_text("1 skill")
        page.get_by_text("and 2 like it").click()
        page.get_by_role("list", name="Near-copies").get_by_role("link", name="my-backup").click()
        expect(page.get_by_role("heading", name="my-backup")).to_be_visible()


def test_a_misspelled_word_is_shown_with_what_was_searched(show: Show) -> None:
    page = show("/?q=shlef")
    status = page.locator(".line-up [role=status]")
    expect(status).to_contain_text("Showing results for shelf instead of shlef · ")
    page.get_by_role("searchbox").fill("shlef libary")
    expect(status).to_contain_text("Showing results for shelf instead of shlef, library instead of libary · ")
    expect(page.locator(".card mark").first).to_have_text("shelf")
    page.get_by_role("searchbox").fill("shelf")
    expect(status).not_to_contain_text("Showing")


def test_the_list_grows_as_it_is_scrolled_to_its_end(show: Show) -> None:
    page = show("/?source=library")
    expect(page.locator(".card").first).to_be_visible()
    assert page.locator(".card").count() < 120

    def is_at_its_end() -> bool:
        page.mouse.wheel(0, 20_000)
        page.wait_for_timeout(20)
        return page.locator("#results .page > *").count() == 120

    wait_until(is_at_its_end)


# What a busy browser does: changes that were seen in several frames are reported together.
REPORT_TWO_AT_ONCE = """
  window.IntersectionObserver = class extends IntersectionObserver {
    constructor(told, options) {
      const changes = [];
      super(([change]) => (window.changesSeen = changes.push(change)) === 2 && told(changes), options);
    }
  };
"""


def test_the_list_grows_where_the_browser_reports_several_changes_at_once(show: Show) -> None:
    page = show()
    page.set_viewport_size({"width": 1000, "height": 400})
    page.add_init_script(REPORT_TWO_AT_ONCE)
    page.goto("/?source=library")
    wait_until(lambda: page.evaluate("window.changesSeen") == 1)  # the end is far
    page.mouse.wheel(0, 20_000)
    expect(page.locator("#results .page > *")).to_have_count(40)


def test_typing_finds_a_skill_and_says_why(show: Show) -> None:
    page = show()
    page.keyboard.type("messy csv")
    expect(page.locator(".card a.open").first).to_have_text("csv-cleanup")
    expect(page.locator(".card mark.match").first).to_have_text("messy")
    expect(page.locator(".line-up [role=status]")).to_contain_text("by words")
    page.wait_for_url("**q=messy+csv*")  # what is found may stand there before the last letters do
    page.reload()
    expect(page.locator(".card a.open").first).to_have_text("csv-cleanup")


def test_why_a_skill_has_its_rank_is_asked_for_on_request(show: Show) -> None:
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
    page = show("/?view=skills")
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


def test_what_is_opened_stays_open_though_somebody_was_typing(show: Show) -> None:
    page = show("/?q=csv")
    first = page.locator(".card a.open").first
    expect(first).to_be_visible()
    page.evaluate("""() => {
        const box = document.querySelector("#query");
        box.value += " x";
        box.dispatchEvent(new Event("input", {bubbles: true}));
        document.querySelector(".card a.open").click();
    }""")
    expect(page.locator(".detail .title h1")).to_be_visible()
    page.wait_for_timeout(300)  # longer than the page waits for more to be typed
    expect(page).to_have_url(re.compile("/skills/"))


def test_a_long_query_is_whole_after_a_reload_and_fits_an_address(show: Show) -> None:
    page = show()
    query = "clean up a messy csv file " + "数据清理 " * 1200
    page.get_by_role("searchbox").fill(query)
    expect(page.locator(".card").first).to_be_visible()
    page.wait_for_url("**q=clean*")
    assert len(page.url) < 5000
    page.locator(".card a.open").first.click()
    expect(page.locator(".detail .title h1")).to_be_visible()
    page.go_back()
    page.reload()
    expect(page.get_by_role("searchbox")).to_have_value(query.strip())
    expect(page.locator(".card").first).to_be_visible()


def test_filters_combine_stand_in_the_url_and_are_gone_back_from(show: Show) -> None:
    page = show("/?view=skills")
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
def test_the_list_is_sorted_and_a_search_is_ranked(show: Show, value: str, first: str) -> None:
    page = show("/?view=skills")
    expect(page.locator(".card").first).to_be_visible()
    page.get_by_label("Sort by").select_option(value)
    expect(page.locator(".card a.open").first).to_have_text(first)
    assert f"sort={value}" in page.url
    page.get_by_role("searchbox").fill("csv")
    expect(page.locator(".card a.open").first).to_have_text("csv-cleanup")
    expect(page.get_by_label("Sort by")).to_have_count(0)


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
    page = watched.open(server.url, "/?view=skills")
    expect(page.locator(".card").first).to_be_visible()
    page.route("**/api/v1/search", lambda route: route.abort())
    page.get_by_role("searchbox").fill("csv")
    expect(page.get_by_role("alert")).to_contain_text("The service does not answer")
    page.unroute("**/api/v1/search")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".card a.open").first).to_have_text("csv-cleanup")


@pytest.mark.parametrize("path", ["/", "/?view=skills", "/?q=csv", "/skills/csv-cleanup", "/?view=admin", "/nowhere"])
def test_the_page_fits_a_phone(watched: Watched, server: ListedServer, path: str) -> None:
    watched.expected = ["404"]
    page = watched.open(server.url, path, width=320)
    expect(page.locator("body")).to_contain_text("kill")
    expect(page.locator(".skeleton")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_six_results_fit_on_a_screen_and_say_nothing_that_all_have_in_common(show: Show) -> None:
    page = show("/?q=shelf&source=library")
    expect(page.locator(".card").first).to_be_visible()
    page.set_viewport_size({"width": 1280, "height": 800})
    seen = "all => all.filter(one => one.getBoundingClientRect().bottom <= 800).length"
    assert page.locator("#results .page > *").evaluate_all(seen) >= 6
    first = page.locator(".card").first
    expect(first.locator(".badge")).to_have_count(0)
    expect(first).not_to_contain_text("1.0.0")


def test_the_passage_of_a_text_is_shown_where_the_description_lacks_the_words(show: Show, server: ListedServer) -> None:
    write_skill(
        server.skills_dir, "in-the-text", "Does something else", "# Steps\n\nPolish the **astrolabe** <b>daily</b>.\n"
    )
    server.wait_for(lambda: server.api("GET", "/skills/in-the-text").status_code == 200)
    page = show("/?q=astrolabes")
    expect(page.locator(".card .passage")).to_have_text("Steps Polish the astrolabe <b>daily</b>.")
    expect(page.locator(".card mark.match")).to_have_text("astrolabe")
    assert server.api("DELETE", "/skills/in-the-text").status_code == 200


def test_a_long_passage_is_no_wider_than_a_phone(show: Show, server: ListedServer) -> None:
    body = "Set the sextant and read the angle of the sun above the horizon at noon, then write it into the log.\n"
    write_skill(server.skills_dir, "at-sea", "Finds a position", body)
    server.wait_for(lambda: server.api("GET", "/skills/at-sea").status_code == 200)
    page = show("/?q=sextant")
    page.set_viewport_size({"width": 320, "height": 700})
    expect(page.locator(".card .passage")).to_be_visible()
    card = page.locator(".card", has=page.locator(".passage"))
    right = "parts => Math.max(...parts.map((part) => part.getBoundingClientRect().right))"
    assert card.locator("p, .foot, .facts > *").evaluate_all(right) <= 320
    assert server.api("DELETE", "/skills/at-sea").status_code == 200


def test_facets_count_all_hits_of_a_search(show: Show) -> None:
    page = show("/?q=book")
    expect(page.get_by_role("link", name="library 120")).to_be_visible()
    page.get_by_role("link", name="books 120").click()
    expect(page.locator(".line-up [role=status]")).to_contain_text("120 skills")
    page.get_by_role("button", name="Clear all").click()
    assert page.url.endswith("/?q=book")


@pytest.mark.parametrize("path", ["/?q=book", "/?source=library"])
def test_skills_of_an_author_or_under_a_licence_are_a_click_away(show: Show, path: str) -> None:
    page = show(path)
    total = page.locator(".line-up [role=status]")
    page.get_by_role("link", name="Ann Lee 12", exact=True).click()  # as most of them spell the name
    expect(total).to_contain_text("12 skills")
    expect(page.get_by_role("link", name="Ann Lee 12", exact=True)).to_have_attribute("aria-current", "true")
    page.get_by_role("link", name="CC0-1.0 12", exact=True).click()
    expect(page).to_have_url(re.compile(r"(book|library)&author=Ann\+Lee&license=CC0-1\.0$"))
    expect(page.locator(".filters .badge")).to_have_text("3" if "source" in path else "2")
    page.get_by_role("link", name="Ann Lee 12", exact=True).click()
    expect(page).to_have_url(re.compile(r"(book|library)&license=CC0-1\.0$"))
    expect(total).to_contain_text("12 skills")


@pytest.mark.parametrize("path", ["/?q=sextant", "/?source=local"])
def test_skills_for_a_system_or_an_agent_are_a_click_away(show: Show, server: ListedServer, path: str) -> None:
    needs = {"at-sea": {"os": "macos", "agents": "codex"}, "at-night": {"os": "linux"}, "at-rest": {}}
    for name, said in needs.items():
        write_skill(server.skills_dir, name, "Read the sextant", "Hold the sextant.\n", **said)
        server.wait_for(partial(lambda name: server.api("GET", f"/skills/{name}").status_code == 200, name))
    page = show(path)
    titles = page.locator(".card h2, .card h3")
    expect(titles.filter(has_text="at-night")).to_have_count(1)
    page.locator(".filters").get_by_role("link", name=re.compile("^macos")).click()
    expect(page).to_have_url(re.compile("os=macos"))
    expect(titles.filter(has_text="at-night")).to_have_count(0)  # it is for another system
    expect(titles.filter(has_text="at-rest")).to_have_count(1)  # it says nothing
    page.locator(".filters").get_by_role("link", name=re.compile("^codex")).click()
    expect(page.locator(".filters .badge")).to_have_text("3" if "source" in path else "2")
    expect(titles.filter(has_text="at-sea")).to_have_count(1)
    for name in needs:
        assert server.api("DELETE", f"/skills/{name}").status_code == 200


def test_weaker_matches_wait_for_a_button(show: Show) -> None:
    page = show("/?view=skills")
    expect(page.locator(".card").first).to_be_visible()

    def weaken(route: Route) -> None:
        answer = route.fetch()
        data = answer.json()
        for number, hit in enumerate(data["data"]["skills"]):
            hit["relevance"] = "high" if number < 2 else "low"
        route.fulfill(response=answer, json=data)

    page.route("**/api/v1/search", weaken)
    page.get_by_role("searchbox").fill("book")
    expect(page.locator(".card")).to_have_count(2)
    page.get_by_role("button", name="Show weaker matches").click()
    expect(page.locator(".card").nth(10)).to_be_visible()
    expect(page.get_by_role("button", name="Show weaker matches")).to_have_count(0)
    page.unroute_all(behavior="wait")


def test_a_skill_has_a_path_and_the_old_address_leads_there(show: Show) -> None:
    page = show("/?skill=csv-cleanup&file=scripts%2Fprofile_csv.py")
    expect(page.locator(".file")).to_contain_text("import")
    assert page.url.endswith("/skills/csv-cleanup?file=scripts%2Fprofile_csv.py")
    page = show("/skills/csv-cleanup@1.0.0")
    expect(page.locator(".detail h1").first).to_contain_text("csv-cleanup")
    page.keyboard.press("Escape")
    expect(page.locator(".hero")).to_be_visible()


def test_a_link_to_a_skill_does_not_take_the_keys(show: Show) -> None:
    page = show("/skills/csv-cleanup")
    expect(page.locator(".markdown")).to_be_visible()
    page.keyboard.press("Space")
    expect(page.get_by_role("searchbox")).to_have_value("")
    assert page.evaluate("document.activeElement.id") != "query"


def test_an_unknown_path_answers_a_page_to_a_browser(watched: Watched, server: ListedServer) -> None:
    watched.expected = ["404"]
    page = watched.open(server.url, "/no/such/page")
    expect(page.locator(".notice .title")).to_have_text("There is no such page")
    expect(page).to_have_title("There is no such page · Skill Registry")
    page.get_by_role("button", name="To the start page").click()
    expect(page.locator(".hero")).to_be_visible()


def test_the_content_can_be_skipped_to(show: Show) -> None:
    page = show("/?q=csv")
    expect(page.locator(".card").first).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="Results")).to_be_focused()


def test_the_colours_are_chosen_and_kept(show: Show) -> None:
    page = show(color_scheme="light")
    colour = "getComputedStyle(document.documentElement).backgroundColor"
    light = page.evaluate(colour)
    page.get_by_role("button", name="Use dark colours").click()
    dark = page.evaluate(colour)
    assert light != dark
    page.reload()
    assert page.evaluate(colour) == dark
    page.goto("/schema")
    assert page.evaluate(colour) == dark


def test_uses_are_shown_and_order_the_list(watched: Watched, tmp_path: Path) -> None:
    for name in ("anvil", "bellows"):
        write_skill(tmp_path / "skills", name, f"Use the {name} of a workshop.")
    with RunningServer(tmp_path) as running:
        page = watched.open(running.url, "/skills/bellows")
        expect(page.locator(".markdown")).to_be_visible()
        running.wait_for(lambda: "uses_30d" in running.api("GET", "/skills/bellows").json()["data"])
        page.reload()
        expect(page.locator("dl div", has_text="Uses")).to_contain_text("1 in 30 days")
        page.goto("/?view=skills")
        expect(page.locator(".card a.open")).to_have_text(["anvil", "bellows"])
        page.get_by_label("Sort by").select_option("uses")
        expect(page.locator(".card a.open")).to_have_text(["bellows", "anvil"])
        expect(page.locator(".card .facts").first).to_contain_text("1 use")
        page.get_by_label("Sort by").select_option("unused")
        expect(page.locator(".card a.open")).to_have_text(["anvil", "bellows"])
