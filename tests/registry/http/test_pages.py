import gzip
import hashlib
import json
import re
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import pytest
import uvicorn

from registry.config.settings import load_settings
from registry.http.routes.pages import ui_folder
from registry.server.app import create_app
from registry.services.container import Services
from support.servers import RunningServer

RUNS_TEXT = ("innerHTML", "outerHTML", "insertAdjacentHTML", "eval(", "Function(")


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    folder = tmp_path_factory.mktemp("pages")
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
        ("/skills/acme/pdf@1.4.0", "text/html; charset=utf-8"),
        ("/favicon.ico", "image/svg+xml"),
        ("/ui/theme.js", "text/javascript; charset=utf-8"),
        ("/ui/schema/schema.css", "text/css; charset=utf-8"),
        ("/schema", "text/html; charset=utf-8"),
        ("/schema/openapi.json", "application/vnd.oai.openapi+json"),
        ("/ui/index.html", "text/html; charset=utf-8"),
        ("/ui/js/app.js", "text/javascript; charset=utf-8"),
        ("/ui/app.css", "text/css; charset=utf-8"),
        ("/ui/icon.svg", "image/svg+xml"),
        ("/ui/vendor/swagger-ui-5.35.0/LICENSE", "text/plain; charset=utf-8"),
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


@pytest.mark.parametrize(
    ("accept", "is_page"), [("text/html,*/*;q=0.8", True), ("application/json", False), ("*/*", False)]
)
def test_an_unknown_path_is_a_page_for_a_browser_and_an_envelope_for_others(
    port: int, accept: str, is_page: bool
) -> None:
    for path in ("/no/such/page", "/api/v1/no-such-route", "/v1/no-such-route", "/auth/no-such-route"):
        with get(port, path, Accept=accept) as answer:
            assert answer.status == 404
            is_html = answer.getheader("Content-Type", "").startswith("text/html")
            assert is_html is (is_page and path == "/no/such/page")
            if is_html:
                assert "default-src 'self'" in answer.getheader("Content-Security-Policy", "")


def test_a_file_is_sent_once_and_then_only_checked(port: int) -> None:
    with get(port, "/ui/js/app.js") as first:
        etag = first.getheader("ETag", "")
        assert first.read() == (ui_folder() / "js/app.js").read_bytes()
        assert first.getheader("Cache-Control") == "no-cache"
    with get(port, "/ui/js/app.js", **{"If-None-Match": f'"other", {etag}'}) as again:
        assert (again.status, again.read(), again.getheader("ETag")) == (304, b"", etag)
    with get(port, "/ui/js/app.js", **{"If-None-Match": '"other"'}) as changed:
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
        "/ui/js/app.js%00",
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
        assert text.count("<script") == len(re.findall(r'<script(?: type="module")? src="/ui/[^"]*"', text))
    for path in (ui_folder() / "js").rglob("*.js"):
        assert not [word for word in RUNS_TEXT if word in path.read_text()]


def test_browsers_keep_vendored_files_since_their_folder_names_their_version(port: int) -> None:
    with get(port, "/ui/vendor/htm-3.1.1/standalone.module.js") as answer:
        assert answer.getheader("Cache-Control") == "public, max-age=31536000, immutable"
    folders = [path.name for path in (ui_folder() / "vendor").iterdir() if path.is_dir()]
    assert all(re.fullmatch(r"[a-z-]+-[0-9]+[.][0-9]+[.][0-9]+", name) for name in folders)


def test_every_module_of_the_page_is_asked_for_at_once() -> None:
    page = (ui_folder() / "index.html").read_text()
    asked = set(re.findall(r'(?:href|src)="/ui/js/([a-z-]+[.]js)"', page))
    assert asked == {path.name for path in (ui_folder() / "js").glob("*.js")} - {"catalog-worker.js"}


def test_the_first_load_is_small() -> None:
    folder = ui_folder()
    files = [
        folder / "index.html",
        folder / "app.css",
        folder / "icon.svg",
        folder / "theme.js",
        *(folder / "js").glob("*.js"),
    ]
    files += (folder / "vendor").glob("htm-*/*.js")
    assert sum(len(gzip.compress(path.read_bytes())) for path in files) <= 70_000


def test_files_of_the_page_are_logged_at_debug(tmp_path: Path) -> None:
    with RunningServer(tmp_path) as server:
        for path in ("/", "/ui/app.css", "/ui/absent.js"):
            server.http.get(path)
    text = server.log.read_text()
    assert "path=/ status=200" in text
    assert "path=/ui/absent.js status=404" in text
    assert "path=/ui/app.css" not in text
