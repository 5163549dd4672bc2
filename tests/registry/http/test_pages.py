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
from registry.http.page.bundles import bundles
from registry.http.page.files import ui_folder
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


def linked(port: int) -> dict[str, str]:
    """Return the addresses of the files that the page links to, by their paths in `ui/`."""
    with get(port, "/") as page:
        links = re.findall(r'(?:href|src)="(/ui/[0-9a-f]{16}/([^"]+))"', page.read().decode())
    return {path: address for address, path in links}


def test_browsers_keep_the_files_of_a_version_and_check_those_of_another(port: int) -> None:
    files = linked(port)
    assert set(files) == {"icon.svg", "theme.js", "app.css", "js/app.js"}
    for address in [*files.values(), files["js/app.js"].replace("app.js", "later.js")]:
        with get(port, address) as answer:
            assert (answer.status, answer.getheader("Cache-Control")) == (200, "public, max-age=31536000, immutable")
            content = answer.read()
        with get(port, re.sub("[0-9a-f]{16}", "0" * 16, address)) as answer:  # while replicas are upgraded
            assert (answer.status, answer.getheader("Cache-Control"), answer.read()) == (200, "no-cache", content)


def test_every_module_of_the_page_is_in_one_of_two_scripts(port: int) -> None:
    first = linked(port)["js/app.js"]
    scripts = text_at(port, first) + text_at(port, first.replace("app.js", "later.js"))
    joined = re.findall(r'^__modules\["js/([^"]+)"\] =', scripts, re.M)
    modules = {path.relative_to(ui_folder() / "js").as_posix() for path in (ui_folder() / "js").rglob("*.js")}
    assert sorted(joined) == sorted(name for name in modules if not name.endswith("-worker.js"))


def text_at(port: int, address: str) -> str:
    with get(port, address) as answer:
        return answer.read().decode()


def test_the_files_of_the_first_load_are_small(port: int) -> None:
    sizes = [len(gzip.compress(text_at(port, address).encode())) for address in ["/", *linked(port).values()]]
    assert sum(sizes) <= 60_000


NEEDS = {"a.js": 'import { b as c } from "./b.js";\nexport const a = c + 1;\n', "b.js": "export const b = 1;\n"}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"b.js": 'import { a } from "./a.js";\nexport const b = a;\n'},
            "modules import each other: a.js > b.js > a.js",
        ),
        ({"b.js": "export default 1;\n"}, "b.js: this statement cannot be joined: export default 1;"),
        ({"b.js": 'import all from "./c.js";\n'}, 'b.js: this statement cannot be joined: import all from "./c.js";'),
        ({"b.js": 'import { c } from "./c.js";\n'}, "there is no module c.js, which b.js imports"),
    ],
)
def test_modules_that_cannot_be_joined_are_refused(changed: dict[str, str], message: str) -> None:
    assert list(bundles(NEEDS, "a.js", "later.js")) == ["a.js", "later.js"]
    with pytest.raises(ValueError, match=re.escape(message)):
        bundles({**NEEDS, **changed}, "a.js", "later.js")


def test_files_of_the_page_are_logged_at_debug(tmp_path: Path) -> None:
    with RunningServer(tmp_path) as server:
        for path in ("/", "/ui/app.css", "/ui/absent.js"):
            server.http.get(path)
    text = server.log.read_text()
    assert "path=/ status=200" in text
    assert "path=/ui/absent.js status=404" in text
    assert "path=/ui/app.css" not in text
