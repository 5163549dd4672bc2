"""The text of a skill on the page, with what GitHub makes of Markdown."""

from playwright.sync_api import expect

from support.pages import ListedServer, Watched, faults
from support.servers import write_skill

BODY = """# All of it

See https://a.example/x_(y)?q=1, (https://b.example/z). Not `https://c.example` nor [the site](https://d.example).

Set <your-token> here. [Nowhere](gone.md) leads nowhere.

- [ ] Open
- [x] Done

> [!TIP]
> A tip.

| a | b |
|---|--:|
| 1 | 2 |

A note[^why] and again[^why].

[^why]: Because.
"""


def test_a_text_reads_as_at_github(watched: Watched, server: ListedServer) -> None:
    write_skill(server.skills_dir, "all-markdown", "Shows all of Markdown", BODY)
    server.wait_for(lambda: server.api("GET", "/skills/all-markdown").status_code == 200)
    page = watched.open(server.url, "/skills/all-markdown", width=360)
    text = page.locator(".markdown")
    expect(text.locator("h1")).to_be_visible()
    links = text.locator("a[target=_blank]").evaluate_all("links => links.map((link) => link.getAttribute('href'))")
    assert links == ["https://a.example/x_(y)?q=1", "https://b.example/z", "https://d.example"]
    expect(text).to_contain_text("Set <your-token> here. Nowhere leads nowhere.")
    expect(text.locator("blockquote strong")).to_have_text("Tip")
    expect(text.locator("li.task")).to_have_count(2)
    expect(text.locator("td").last).to_have_css("text-align", "right")
    note = text.get_by_role("link", name="Footnote why", exact=True)
    expect(note).to_have_count(2)
    expect(note.first).to_have_text("why")
    plain = text.locator("p", has_text="Nowhere").evaluate("(one) => getComputedStyle(one).color")
    expect(text.get_by_text("Nowhere", exact=True)).to_have_css("color", plain)
    assert faults(page) == []
