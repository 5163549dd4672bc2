"""Texts of others stay texts, pages of others stay outside, and reading changes nothing."""

import hashlib
import shutil
import sqlite3
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from support.html_elements import TAGS
from support.pages import HIDDEN, HOSTILE, OTHER_HOST, ListedServer, quoted
from support.servers import write_skill
from support.waiting import wait_until

Show = Callable[..., Page]


@pytest.mark.parametrize("name", [name for name in HOSTILE if name != "hidden"])
@pytest.mark.parametrize("place", ["/?q=hostile-{}", "/?skill=hostile-{}"])
def test_texts_of_a_skill_are_never_markup(show: Show, name: str, place: str) -> None:
    page = show(place.format(name))
    described = page.locator(".description", has_text=HOSTILE[name]).first
    expect(described).to_have_text(HOSTILE[name])
    assert page.locator("main :is(script, iframe, img, svg, style, form)").count() == 0


def test_characters_nobody_can_see_are_marked(show: Show) -> None:
    page = show("/?q=hostile-hidden")
    marks = page.locator(".card .description mark.hidden-character")
    expect(marks).to_have_text(["U+202E", "U+200B", "U+E0041"])
    shown = str(page.locator(".card .description").first.text_content())
    assert not {"\u202e", "\u200b", "\U000e0041"} & set(shown)
    assert len({*HIDDEN} - {*shown}) == 3


def test_joiners_of_words_and_emoji_are_not_marked(show: Show, server: ListedServer) -> None:
    text = "می\u200cخواهم क्\u200dष 👩\u200d👩\u200d👧 🏳\ufe0f\u200d🌈 🏴\U000e0067\U000e0062\U000e007f pass\u200cword"
    write_skill(server.skills_dir, "joined", quoted(text), f"# Steps\n\n{text}\n")
    server.wait_for(lambda: server.api("GET", "/skills/joined").status_code == 200)
    page = show("/skills/joined")
    for place in (".description", ".markdown p"):
        expect(page.locator(place).first.locator("mark.hidden-character")).to_have_text(["U+200C"])
        expect(page.locator(place).first).to_have_text(text.replace("pass\u200c", "passU+200C"))
    assert server.api("DELETE", "/skills/joined").status_code == 200


def test_a_skill_md_keeps_its_text_and_nothing_that_runs_or_loads(show: Show) -> None:
    page = show("/?skill=hostile-script")
    text = page.locator(".markdown")
    expect(text.locator("td")).to_have_text(["1", "2"])
    expect(text.locator("mark.hidden-character").first).to_have_text("U+200B")
    assert text.locator(":is(script, iframe, img, svg, style, form, button, path)").count() == 0
    targets = text.locator("a[href]:not(.anchor)").evaluate_all("all => all.map(one => one.getAttribute('href'))")
    assert targets == ["https://good.example/", "/skills/hostile-script?file=notes%2Fmore.md"]
    text.get_by_role("link", name="ours").click()
    expect(page.locator(".file .markdown")).to_have_text("More of it.")
    page.get_by_role("button", name="Source").click()
    expect(page.locator(".file pre")).to_have_text("More <b>of</b> it.")


def test_no_tag_hides_text_that_agents_read(show: Show, server: ListedServer) -> None:
    body = "".join(f"Text before {number}.\n\n<{tag}>\n\n" for number, tag in enumerate(TAGS)) + "The end.\n"
    write_skill(server.skills_dir, "all-tags", "Has every tag there is.", body=body)
    wait_until(lambda: server.api("GET", "/skills/all-tags").status_code == 200)
    text = show("/skills/all-tags").locator(".markdown")
    expect(text).to_contain_text("The end.")
    shown = text.text_content() or ""
    assert [number for number in range(len(TAGS)) if f"Text before {number}." not in shown] == []
    shutil.rmtree(server.skills_dir / "all-tags")
    wait_until(lambda: server.api("GET", "/skills/all-tags").status_code == 404)


def test_a_name_pointed_at_this_machine_reads_and_installs_nothing(browser: Browser, server: ListedServer) -> None:
    page = browser.new_page()
    strange = f"http://{OTHER_HOST}:{urlsplit(server.url).port}"
    answer = page.goto(f"{strange}/")
    assert answer is not None
    assert (answer.status, "FORBIDDEN" in answer.text()) == (403, True)
    ask = "([url, options]) => fetch(url, options).then((answer) => answer.status, (error) => error.name)"
    assert page.evaluate(ask, [f"{strange}/api/v1/skills", {}]) == 403
    body = '{"skill_id": "library/shelf-001", "source_name": "library"}'
    for url in (strange, server.url):
        sent = {"method": "POST", "body": body, "headers": {"Content-Type": "text/plain"}, "mode": "cors"}
        assert page.evaluate(ask, [f"{url}/api/v1/skills", sent]) in (403, "TypeError")
    page.close()
    assert server.api("GET", "/skills/shelf-001").status_code == 404


def fingerprint(server: ListedServer) -> str:
    """Return a digest of everything in the database but the counts of uses: a look at a skill is one."""
    with sqlite3.connect(f"file:{server.data_dir / 'skill-registry.db'}?mode=ro", uri=True) as database:
        text = "\n".join(line for line in database.iterdump() if not line.startswith('INSERT INTO "uses"'))
    database.close()
    return hashlib.sha256(text.encode()).hexdigest()


def test_following_every_link_changes_nothing(show: Show, server: ListedServer) -> None:
    before = fingerprint(server)
    page = show()
    seen = {"/"}
    waiting = ["/", "/?view=skills", "/skills/csv-cleanup", "/?view=admin", "/?q=csv"]
    links = "all => all.map(one => one.href).filter(href => href.startsWith(location.origin))"
    for path in waiting:
        page.goto(path)
        expect(page.locator(".skeleton")).to_have_count(0)
        seen.update(page.locator("a[href]").evaluate_all(links))
    for url in sorted(seen):
        assert server.http.get(url.split("#")[0]).status_code == 200
    for url in [one for one in sorted(seen) if "?" in one][::25]:
        page.goto(url)
        expect(page.locator(".skeleton")).to_have_count(0)
    assert len(seen) > 100
    assert fingerprint(server) == before
