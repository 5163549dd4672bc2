"""The page behind nginx, below a path of a host, with a proxy that strips the path and one that passes it on."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from support.nginx import Nginx
from support.pages import ListedServer, Watched

FORWARDED = {"Host": "$http_host", "X_Forwarded_Prefix": "/hub", "X_Forwarded_For": "$remote_addr"}


@pytest.fixture(params=["stripping", "passing"])
def proxy(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Nginx]:
    """nginx before a service: it names the path and strips it, or passes it on to a service that knows its URL."""
    strips = request.param == "stripping"
    with Nginx(tmp_path / "nginx") as nginx:
        known = ("--trusted-proxy", "127.0.0.1") if strips else ("--public-url", nginx.url)
        with ListedServer(tmp_path / "service", *known) as server:
            server.wait_for(server.listed)
            headers = FORWARDED if strips else {"Host": "$http_host"}
            yield nginx.start(server.url, strips=strips, **headers)


def test_every_view_of_the_page_works_below_a_path(proxy: Nginx, watched: Watched) -> None:
    page = watched.open(proxy.host, "/hub/")
    expect(page.locator(".topics a").first).to_have_text("books 120")
    page.get_by_role("searchbox").fill("put book number 7 back")
    page.locator(".card a.open", has_text="shelf-007").first.click()
    expect(page).to_have_url(f"{proxy.url}/skills/library/shelf-007")
    page.reload()
    expect(page.get_by_role("heading", level=1).first).to_contain_text("shelf-007")
    page.get_by_role("link", name="Skill Registry", exact=True).click()
    expect(page).to_have_url(f"{proxy.url}/")
    page.goto("/hub/skills/csv-cleanup?file=scripts%2Fprofile_csv.py")
    expect(page.locator('[class^="hljs-"]').first).to_be_visible()  # from a worker
    page.goto("/hub/?view=skills")
    expect(page.locator(".line-up [role=status]")).to_have_text("137 skills")
    page.get_by_role("link", name="API", exact=True).click()
    expect(page.locator("#schema .opblock").first).to_be_visible()
