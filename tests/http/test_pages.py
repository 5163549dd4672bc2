import hashlib
import json
import shutil
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse

import pytest
import uvicorn
from playwright.sync_api import Browser, Page, Route, expect, sync_playwright

from registry.app import create_app
from registry.routes.pages import ui_folder
from registry.services import Services
from registry.settings import load_settings

SKILLS = {
    "read-tables": "Read tables out of PDF files and hand them over as CSV",
    "plan-trips": "Plan trips by train <script>alert(1)</script> and keep to a budget",
}


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    folder = tmp_path_factory.mktemp("pages")
    for name, description in SKILLS.items():
        (folder / "skills" / name).mkdir(parents=True)
        text = f"---\nname: {name}\ndescription: {description}\n---\nBody.\n"
        (folder / "skills" / name / "SKILL.md").write_text(text)
    flags = {"skills_dir": folder / "skills", "data_dir": folder / "data", "embedding.provider": "none"}
    app = create_app(Services(load_settings(flags, {})))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    thread.join(30)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert path, "the tests of the pages need chromium on the PATH: `make programs` installs it"
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture
def page(browser: Browser, port: int) -> Iterator[Page]:
    made = browser.new_page(base_url=f"http://127.0.0.1:{port}")
    problems: list[str] = []
    made.on("console", lambda message: problems.append(f"{message.type}: {message.text}"))
    made.on("pageerror", lambda error: problems.append(str(error)))
    made.on("request", lambda request: problems.append(request.url) if not is_ours(request.url, port) else None)
    yield made
    made.close()
    assert problems == []


def is_ours(url: str, port: int) -> bool:
    return url.startswith((f"http://127.0.0.1:{port}/", "data:image/"))


def get(port: int, path: str, **headers: str) -> HTTPResponse:
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", path, headers={"Connection": "close", **headers})
    return connection.getresponse()


@pytest.mark.parametrize(
    ("path", "media_type"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/?q=tables", "text/html; charset=utf-8"),
        ("/dashboard", "text/html; charset=utf-8"),
        ("/schema", "text/html; charset=utf-8"),
        ("/schema/openapi.json", "application/vnd.oai.openapi+json"),
        ("/ui/index.html", "text/html; charset=utf-8"),
        ("/ui/app.js", "text/javascript; charset=utf-8"),
        ("/ui/app.css", "text/css; charset=utf-8"),
        ("/ui/icon.svg", "image/svg+xml"),
        ("/ui/vendor/swagger-ui/LICENSE", "text/plain; charset=utf-8"),
    ],
)
def test_every_page_and_file_is_guarded(port: int, path: str, media_type: str) -> None:
    with get(port, path) as answer:
        assert (answer.status, answer.getheader("Content-Type")) == (200, media_type)
        assert answer.getheader("X-Content-Type-Options") == "nosniff"
        assert answer.getheader("Referrer-Policy") == "no-referrer"
        policy = answer.getheader("Content-Security-Policy", "")
    assert {"default-src 'self'", "frame-ancestors 'none'"} <= set(policy.split("; "))
    assert "unsafe" not in policy


def test_a_file_is_sent_once_and_then_only_checked(port: int) -> None:
    with get(port, "/ui/app.js") as first:
        etag = first.getheader("ETag", "")
        assert first.read() == (ui_folder() / "app.js").read_bytes()
        assert first.getheader("Cache-Control") == "no-cache"
    with get(port, "/ui/app.js", **{"If-None-Match": f'"other", {etag}'}) as again:
        assert (again.status, again.read(), again.getheader("ETag")) == (304, b"", etag)
    with get(port, "/ui/app.js", **{"If-None-Match": '"other"'}) as changed:
        assert changed.status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/ui/absent.js",
        "/ui/vendor",
        "/ui/../pyproject.toml",
        "/ui/%2e%2e/pyproject.toml",
        "/ui/..%2fpyproject.toml",
        "/ui//etc/passwd",
        "/ui/vendor/../../pyproject.toml",
        "/ui/..\\pyproject.toml",
        "/ui/app.js%00",
        "/schema/absent",
        "/schema/openapi.yaml",
    ],
)
def test_nothing_else_is_served(port: int, path: str) -> None:
    with get(port, path) as answer:
        assert (answer.status, json.load(answer)["error"]["code"]) == (404, "NOT_FOUND")


def test_the_document_describes_the_api_and_not_the_pages(port: int) -> None:
    with get(port, "/schema/openapi.json") as answer:
        paths = json.load(answer)["paths"]
    assert "/api/v1/search" in paths
    assert not {"/", "/dashboard", "/schema"} & paths.keys()


def test_vendored_files_are_what_was_published() -> None:
    vendor = ui_folder() / "vendor"
    lines = [line for line in (vendor / "checksums.txt").read_text().splitlines() if not line.startswith("#")]
    listed = {name: digest for digest, name in (line.split(maxsplit=1) for line in lines)}
    files = {path.relative_to(vendor).as_posix(): path for path in vendor.rglob("*/*") if path.is_file()}
    assert listed == {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()}


def test_pages_run_no_script_and_no_style_of_their_own() -> None:
    for path in (ui_folder() / "index.html", ui_folder() / "schema" / "index.html"):
        text = path.read_text()
        assert "<style" not in text
        assert text.count("<script") == text.count("<script src=")
    assert "innerHTML" not in (ui_folder() / "app.js").read_text()


def test_the_document_is_drawn(page: Page) -> None:
    page.goto("/schema")
    expect(page.locator(".opblock").first).to_be_visible()
    expect(page.locator("[data-path='/api/v1/search']").first).to_be_visible()
    page.locator(".opblock-summary").first.click()
    expect(page.locator(".opblock-body").first).to_be_visible()
