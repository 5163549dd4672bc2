"""One skill: reading it, installing it, removing it, and what is said when that fails."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from support.pages import ListedServer, Watched, faults, sign_in
from support.publishing import Registry, skill_package
from support.servers import write_skill

Show = Callable[..., Page]


def test_a_skill_shows_its_text_files_and_how_to_get_it(show: Show, server: ListedServer) -> None:
    page = show("/?view=skills")
    page.get_by_role("link", name="csv-cleanup").click()
    expect(page.locator(".markdown h1")).to_have_text("Cleaning CSV files")
    expect(page.locator(".digest")).to_contain_text("sha256:")
    expect(page.locator(".copyable code")).to_have_text(f"skill-registry install csv-cleanup --from {server.url}")
    page.get_by_role("button", name="npx skills").click()
    expect(page.locator(".copyable code")).to_have_text(f"npx skills add {server.url}/s/csv-cleanup")
    page.get_by_role("button", name="curl").click()
    expect(page.locator(".copyable code")).to_have_text(
        f"curl -s -H 'Accept: text/markdown' '{server.url}/api/v1/skills/csv-cleanup/content'"
    )
    expect(page).to_have_title("csv-cleanup · Skill Registry")
    page.locator(".files a", has_text="profile_csv.py").click()
    expect(page.locator(".file pre")).to_contain_text("import")
    page.get_by_role("link", name="All skills").click()
    expect(page.locator(".card").first).to_be_visible()
    expect(page).to_have_title("Skills · Skill Registry")


def test_a_link_to_a_skill_takes_eight_requests(browser: Browser, server: ListedServer) -> None:
    page = browser.new_context().new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{server.url}/skills/csv-cleanup")
    expect(page.locator(".markdown").first).to_be_visible()
    page.wait_for_load_state("networkidle")
    page.context.close()
    assert len(asked) <= 8, asked


def test_going_back_returns_to_the_same_place_of_the_list(show: Show) -> None:
    page = show("/?source=library")
    link = page.locator(".card a.open", has_text="shelf-025")
    link.hover()  # scrolls to it as a click does
    before = link.bounding_box()
    link.click()
    expect(page.locator(".detail h1").first).to_contain_text("shelf-025")
    expect(page.get_by_text("skill-registry install library/shelf-025")).to_be_visible()
    page.go_back()
    expect(link).to_be_in_viewport()
    after = link.bounding_box()
    assert before
    assert after
    assert abs(after["y"] - before["y"]) < 400


def test_what_was_found_in_a_skill_stands_beside_it_with_its_place(show: Show) -> None:
    page = show("/?skill=hostile-hidden")
    expect(page.locator(".findings li").first).to_contain_text("SKILL.md:")
    expect(page.locator(".findings .badge.risk-high").first).to_be_visible()
    expect(page.locator(".detail header .badge").last).to_have_text("high risk")


@pytest.mark.parametrize("width", [1280, 320])
def test_the_checklist_and_the_evals_are_read_by_everybody(watched: Watched, server: ListedServer, width: int) -> None:
    page = watched.open(server.url, "/skills/hostile-script", width=width)
    page.get_by_text("Checklist: ").click()
    expect(page.locator(".checklist li")).to_have_count(8)
    expect(page.locator(".checklist li.met", has_text="It has evals")).to_be_visible()
    expect(page.locator(".checklist li", has_text="It names its licence")).to_contain_text("name it with license")
    page.get_by_text("1 task, 1 assertion").click()
    expect(page.locator(".evals ol")).to_contain_text("<script>alert(1)</script> is a text")
    assert faults(page) == []


@pytest.mark.parametrize("width", [1280, 320])
def test_the_risk_leads_to_what_was_found(watched: Watched, server: ListedServer, width: int) -> None:
    page = watched.open(server.url, "/skills/hostile-hidden", width=width)
    link = page.get_by_role("link", name="high risk")
    link.focus()
    page.keyboard.press("Enter")
    heading = page.get_by_role("heading", name="Findings")
    expect(heading).to_be_focused()
    expect(heading).to_be_in_viewport()
    assert page.url == f"{server.url}/skills/hostile-hidden"
    assert faults(page) == []


def test_a_skill_that_is_not_there_is_said(watched: Watched, server: ListedServer) -> None:
    watched.expected = ["404"]
    page = watched.open(server.url, "/?skill=no-such-skill")
    expect(page.locator(".detail .title")).to_have_text("There is no such skill")
    expect(page).to_have_title("There is no such skill · Skill Registry")


def test_removing_a_skill_is_asked_first(show: Show, server: ListedServer) -> None:
    folder = write_skill(server.skills_dir, "passing-fancy", "Is here today and gone tomorrow")
    server.wait_for(lambda: server.api("GET", "/skills/passing-fancy").status_code == 200)
    page = show("/?q=passing-fancy")
    expect(page.locator(".card").first).to_be_visible()
    expect(page.get_by_role("button", name="Uninstall passing-fancy")).to_have_count(0)
    page.locator(".card a.open", has_text="passing-fancy").click()
    page.get_by_role("button", name="Uninstall passing-fancy").click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert folder.is_dir()
    page.get_by_role("button", name="Uninstall passing-fancy").click()
    page.get_by_role("dialog").get_by_role("button", name="Uninstall").click()
    expect(page.locator(".detail header .badge").first).to_have_text("removed")
    assert not folder.exists()
    page.get_by_role("button", name="Bring back passing-fancy").click()
    page.get_by_role("button", name="Uninstall passing-fancy").click()
    assert folder.exists()
    page.get_by_role("dialog").get_by_role("button", name="Uninstall").click()
    expect(page.locator(".detail header .badge").first).to_have_text("removed")
    page.go_back()
    expect(page.locator(".card", has_text="passing-fancy").locator(".badge").first).to_have_text("removed")


def test_a_skill_is_installed_from_its_card_and_uninstalled_on_its_page(show: Show, server: ListedServer) -> None:
    page = show("/?q=shelf-007")
    card = page.locator(".card").first
    for _ in range(2):
        card.get_by_role("button", name="Install shelf-007", exact=True).click()
        expect(card.locator(".badge.installed")).to_be_visible()
        assert (server.skills_dir / "shelf-007" / "SKILL.md").is_file()
        card.locator("a.open").click()
        page.get_by_role("button", name="Uninstall shelf-007").click()
        page.get_by_role("dialog").get_by_role("button", name="Uninstall").click()
        expect(page.get_by_role("button", name="Install shelf-007", exact=True)).to_be_visible()
        assert not (server.skills_dir / "shelf-007").exists()
        page.go_back()
    (choice,) = server.api("GET", "/search/feedback", params={"skill_id": "library/shelf-007"}).json()["data"]
    assert (choice["query"], choice["outcome"]) == ("shelf-007", "chosen")


def test_why_a_skill_cannot_be_installed_is_said_in_its_place(watched: Watched, server: ListedServer) -> None:
    watched.expected = ["409"]
    page = watched.open(server.url, "/?q=shelf-008")
    button = page.locator(".card").first.get_by_role("button", name="Install shelf-008", exact=True)
    expect(button).to_be_visible()
    body = {"skill_id": "library/shelf-008", "source_name": "library"}
    assert server.api("POST", "/skills", json=body).status_code == 201  # another caller is quicker
    button.click()
    expect(page.locator(".card").first.get_by_role("alert")).to_contain_text("already installed")
    assert server.api("DELETE", "/skills/shelf-008").status_code == 200


def test_a_finding_leads_to_its_line(show: Show) -> None:
    page = show("/skills/hostile-hidden")
    link = page.locator(".findings a").first
    line = str(link.text_content()).rpartition(":")[2]
    link.click()
    expect(page.locator(".line-of.chosen a")).to_have_attribute("data-number", line)
    expect(page.locator(".line-of.chosen")).to_be_in_viewport()
    assert page.url.endswith(f"/skills/hostile-hidden?file=SKILL.md#L{line}")


def test_a_file_far_down_the_list_is_shown_where_one_sees_it(show: Show, server: ListedServer) -> None:
    folder = write_skill(server.skills_dir, "many-files", "Has many files", "# Many\n\n" + "Text.\n\n" * 300)
    for number in range(80):
        (folder / "parts").mkdir(exist_ok=True)
        (folder / "parts" / f"part-{number:02d}.md").write_text(f"Part {number}\n")
    server.wait_for(lambda: len(server.api("GET", "/skills/many-files/files").json().get("data", [])) == 81)
    page = show("/skills/many-files")
    expect(page.locator(".folder summary")).to_have_text("parts/")
    page.get_by_role("link", name="part-79.md").click()
    expect(page.locator(".file .markdown")).to_be_in_viewport()
    assert server.api("DELETE", "/skills/many-files").status_code == 200


def test_headings_have_anchors_that_the_text_can_link_to(show: Show, server: ListedServer) -> None:
    body = (
        "# One\n\n[down](#two-words) [nowhere](#found)\n\n"
        + "Text.\n\n" * 200
        + "## Two words!\n\n```sh\nls -l\n```\n## One\n"
    )
    write_skill(server.skills_dir, "with-anchors", "Has headings", body)
    server.wait_for(lambda: server.api("GET", "/skills/with-anchors").status_code == 200)
    page = show("/skills/with-anchors")
    expect(page.locator(".markdown h2")).to_have_count(2)
    ids = page.locator(".markdown :is(h1, h2)").evaluate_all("all => all.map(one => one.id)")
    assert ids == ["text-one", "text-two-words", "text-one-1"]
    page.get_by_role("link", name="down", exact=True).click()
    expect(page.get_by_role("heading", name="Two words!")).to_be_in_viewport()
    assert page.locator(".markdown a", has_text="nowhere").get_attribute("href") == "#text-found"
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy this code").click()
    assert page.evaluate("navigator.clipboard.readText()") == "ls -l\n"
    assert server.api("DELETE", "/skills/with-anchors").status_code == 200


def test_similar_skills_are_named(show: Show) -> None:
    page = show("/skills/library/shelf-001")
    expect(page.locator(".similar li")).to_have_count(5)
    first = page.locator(".similar a").first
    name = str(first.text_content())
    assert name != "shelf-001"
    first.click()
    expect(page.locator(".detail h1").first).to_contain_text(name)


def test_similar_skills_of_one_name_are_told_apart(watched: Watched, tmp_path: Path) -> None:
    with Registry(tmp_path) as registry:
        for scope in ("acme", "beta", "corp"):
            package = skill_package("weather", body="# Weather\n")
            registry.finished(registry.publish(package, registry.caller(f"{scope}/ann", "manager")))
        page = watched.open(registry.url, "/skills/acme/weather")
        sign_in(page, "user")
        expect(page.locator(".similar li a")).to_have_text(["weather", "weather"])
        expect(page.locator(".similar li code")).to_have_text(["beta", "corp"])


def test_a_skill_that_was_searched_for_leads_back_to_the_search(show: Show, server: ListedServer) -> None:
    page = show("/?q=csv")
    page.locator(".card a.open").first.click()
    back = page.get_by_role("link", name="← Skills for “csv”")
    expect(back).to_have_attribute("href", "/?q=csv")
    page.locator(".similar a").first.click()
    expect(page.locator(".similar a").first).to_be_visible()
    back.click()
    expect(page).to_have_url(f"{server.url}/?q=csv")
    expect(page.locator(".card").first).to_be_visible()


CODE = """# Code

```python
def hew(block):  # <b>away</b> from the thumb
    return "<img src=x onerror=alert(1)>" + block
```

```no-such-language
def plain(): pass
```

```python
hidden = "zero\u200bwidth"
```

<code class="language-python notice error">def inline(): pass</code>
"""


def test_a_file_has_colours_and_stays_text(show: Show, server: ListedServer) -> None:
    folder = write_skill(server.skills_dir, "coloured-files", "Has files")
    text = '"""Two\nlines <b>of</b> text."""\ndef f():\n    return "<img src=x onerror=alert(1)>\u200b"\n'
    (folder / "run.py").write_text(text)
    (folder / "long.py").write_text("x = 1\n" * 4000)
    (folder / "notes.txt").write_text("def f(): return 1\n")
    server.wait_for(lambda: server.api("GET", "/skills/coloured-files").status_code == 200)
    page = show("/skills/coloured-files?file=run.py#L3")
    lines = page.locator(".numbered .line-of")
    expect(page.locator(".numbered .hljs-keyword")).to_have_text(["def", "return"])
    expect(page.locator(".numbered .hljs-string")).to_have_text(
        ['"""Two', 'lines <b>of</b> text."""', '"<img src=x onerror=alert(1)>U+200B"']
    )
    expect(lines.nth(3).locator("mark.hidden-character")).to_have_text("U+200B")
    expect(lines).to_have_count(4)
    expect(lines.nth(2)).to_have_class("line-of chosen")
    assert page.evaluate("document.querySelector('.numbered code').innerText").count("\n") >= 3
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert faults(page) == []
    for name, first in (("long.py", "x = 1"), ("notes.txt", "def f(): return 1")):  # too long, and no code
        page.locator(".files a", has_text=name).click()
        expect(lines.first).to_contain_text(first)
        expect(page.locator(".numbered [class^=hljs]")).to_have_count(0)
    page.locator(".files a", has_text="run.py").click()
    expect(page.locator(".numbered .hljs-keyword")).to_have_count(2)
    assert server.api("DELETE", "/skills/coloured-files").status_code == 200


def test_a_file_is_shown_as_windows_writes_it_and_an_empty_one_is_said(show: Show, server: ListedServer) -> None:
    folder = write_skill(server.skills_dir, "windows-files", "Has files", "")
    (folder / "set.ps1").write_bytes("$a = 'é'\r\n$b\r\n".encode("utf-16"))
    (folder / "none.txt").write_text("")
    server.wait_for(lambda: server.api("GET", "/skills/windows-files").status_code == 200)
    page = show("/skills/windows-files?file=set.ps1")
    expect(page.locator(".numbered .line-of")).to_have_text(["$a = 'é'", "$b"])
    page.locator(".files a", has_text="none.txt").click()
    expect(page.locator(".file")).to_contain_text("This file is empty")
    page.locator(".file").get_by_role("link", name="SKILL.md").click()
    expect(page.locator(".main")).to_contain_text("Its SKILL.md has no text below its description")
    assert server.api("DELETE", "/skills/windows-files").status_code == 200


def test_a_text_from_right_to_left_has_its_lists_there_and_its_code_not(show: Show, server: ListedServer) -> None:
    body = "# Steps\n\n1. الخطوة\n\n> اقتباس\n\n```sh\necho 1 # تعليق\n```\n\nEnglish.\n"
    write_skill(server.skills_dir, "from-right", "Has a text", body)
    server.wait_for(lambda: server.api("GET", "/skills/from-right").status_code == 200)
    page = show("/skills/from-right", width=360)
    written = {"h1": "ltr", "ol": "rtl", "blockquote": "rtl", "pre": "ltr", "p:last-child": "ltr"}
    for name, direction in written.items():
        expect(page.locator(f".markdown {name}").last).to_have_css("direction", direction)
    expect(page.locator(".markdown blockquote")).to_have_css("border-right-width", "3px")
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert server.api("DELETE", "/skills/from-right").status_code == 200


def test_code_has_colours_and_stays_text(show: Show, server: ListedServer) -> None:
    write_skill(server.skills_dir, "coloured", "Has code", CODE + f"```python\n{'x = 1' * 5000}\n```\n")
    server.wait_for(lambda: server.api("GET", "/skills/coloured").status_code == 200)
    page = show("/skills/coloured")
    blocks = page.locator(".markdown pre code")
    expect(blocks.first.locator(".hljs-keyword")).to_have_text(["def", "return"])
    expect(blocks.first.locator(".hljs-string")).to_have_text('"<img src=x onerror=alert(1)>"')
    expect(blocks.first.locator(".hljs-comment")).to_have_text("# <b>away</b> from the thumb")
    expect(page.locator(".markdown [class^=hljs]").last).to_be_visible()
    for place in (1, 2, 3):  # an unknown language, hidden characters, a long text
        expect(blocks.nth(place).locator("[class^=hljs]")).to_have_count(0)
    expect(blocks.nth(2).locator("mark.hidden-character")).to_have_text("U+200B")
    assert page.locator(".markdown :is(img, .notice)").count() == 0
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert faults(page) == []
    assert server.api("DELETE", "/skills/coloured").status_code == 200
