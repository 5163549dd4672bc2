"""The documentation site: it builds without a warning, loads nothing from elsewhere, and can be searched and read."""

import functools
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

ROOT = Path(__file__).parents[2]
PAGES = (
    "index", "concepts", "comparison", "faq", "glossary", "platforms", "limits", "settings", "http", "commands",
    "operations", "deploy/index", "clients/index", "clients/agents", "SECURITY", "CONTRIBUTING", "CHANGELOG",
)  # fmt: skip


def build(sources: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    command: list[str | Path] = [Path(sys.executable).with_name("mkdocs"), "build", "--strict", "--site-dir", folder]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "NO_COLOR": "1"}
    return subprocess.run(command, cwd=sources, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def url(site: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=site)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_every_page_of_a_reader_is_there(site: Path) -> None:
    assert [page for page in PAGES if not (site / f"{page}.html").is_file()] == []
    assert not [*site.rglob("*.py*"), *site.rglob("__pycache__")]


def test_a_link_to_a_file_of_the_repository_leads_to_that_file(site: Path) -> None:
    assert (site / "examples" / "registry-tour.sh").read_bytes() == (ROOT / "examples/registry-tour.sh").read_bytes()
    assert 'href="examples/registry-tour.sh"' in (site / "tours.html").read_text(encoding="utf-8")
    assert 'href="../settings.html"' in (site / "deploy" / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("target", ["gone.md", "glossary.md#gone", "../src/gone.py"])
def test_a_link_that_leads_nowhere_fails_the_build(tmp_path: Path, target: str) -> None:
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    for path in (*ROOT.glob("*.md"), *(ROOT / name for name in ("deploy", "examples", "LICENSE", "mkdocs.yml"))):
        (tmp_path / path.name).symlink_to(path)
    with (tmp_path / "docs" / "faq.md").open("a") as page:
        page.write(f"\n[A link]({target})\n")
    done = build(tmp_path, tmp_path / "site")
    assert done.returncode == 1
    assert "WARNING -  Doc file 'faq.md'" in done.stderr


@pytest.mark.parametrize("page", ["index", "concepts", "comparison", "settings", "clients/agents"])
@pytest.mark.parametrize("width", [1280, 390])
def test_a_page_fits_and_loads_nothing_from_elsewhere(browser: Browser, url: str, page: str, width: int) -> None:
    opened = browser.new_page(viewport={"width": width, "height": 800})
    asked: list[str] = []
    opened.on("request", lambda request: asked.append(request.url))
    opened.goto(f"{url}/{page}.html", wait_until="networkidle")
    expect(opened.locator("h1")).to_be_visible()
    opened.wait_for_function("document.documentElement.scrollWidth <= window.innerWidth")
    assert asked
    assert [one for one in asked if not one.startswith((url, "data:", "blob:"))] == []
    opened.close()


def test_the_picture_of_the_architecture_is_shown(browser: Browser, url: str) -> None:
    opened = browser.new_page()
    opened.goto(f"{url}/concepts.html")
    opened.wait_for_function("document.querySelector('article img').naturalWidth > 0")
    opened.close()


def test_the_search_finds_a_term(browser: Browser, url: str) -> None:
    opened: Page = browser.new_page(viewport={"width": 1280, "height": 800})
    opened.goto(f"{url}/index.html?q=yank")  # typed text is lost where the scripts of the page do not listen yet
    expect(opened.locator(".md-search-result__link").first).to_be_attached()
    opened.close()
