"""The wire rules on the real application: envelope, errors, redirects, headers, hosts, hostile bodies."""

import json
import socket
from typing import Any

import pytest

from support.servers import RunningServer, new_skill

NOT_JSON = [b"{", b"null", b"[]", b"\xef\xbb\xbf{}", b'{"query": "a"} junk', b'"text"', b"5", b'{"query": NaN}']
NOT_TEXT = [b'{"query": "\xff"}', b'{"query": "\\ud800"}', b'{"query": "a", "query": "b"}', b'{"query": "\\u0000"}']


def is_error(answer: Any, status: int, code: str) -> None:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    body = answer.json()
    assert set(body) == {"success", "error"}
    assert body["success"] is False
    assert body["error"]["code"] == code
    shown = json.dumps(body)
    assert not any(word in shown for word in ("Traceback", "site-packages", "select ", "/src/", "/tmp/"))


@pytest.mark.parametrize(
    "path", ["/nothing", "/api/v1/nothing", "/api/v1", "/v1/nothing", "/auth/token", "/api/v1/skills/a/b/c/d"]
)
def test_an_unknown_path_is_an_enveloped_404(server: RunningServer, path: str) -> None:
    is_error(server.http.get(path), 404, "NOT_FOUND")


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [("DELETE", "/api/v1/skills", "GET, POST"), ("PUT", "/api/v1/search", "GET, POST"), ("POST", "/healthz", "GET")],
)
def test_a_wrong_method_says_which_are_right(server: RunningServer, method: str, path: str, allow: str) -> None:
    answer = server.http.request(method, path)
    is_error(answer, 405, "METHOD_NOT_ALLOWED")
    assert set(allow.split(", ")) <= {one.strip() for one in answer.headers["Allow"].split(",")}


@pytest.mark.parametrize("body", NOT_JSON + NOT_TEXT + [b"[" * 100_000, b'{"a":' * 100_000])
@pytest.mark.parametrize("path", ["/api/v1/search", "/api/v1/skills", "/api/v1/resolve", "/api/v1/reindex"])
def test_a_body_that_is_not_strict_json_is_refused(server: RunningServer, path: str, body: bytes) -> None:
    answer = server.http.post(path, content=body, headers={"Content-Type": "application/json"})
    is_error(answer, 400, "VALIDATION_ERROR")
    assert answer.json()["error"]["details"]


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None])
def test_a_body_that_is_not_declared_json_is_refused(server: RunningServer, kind: str | None) -> None:
    headers = {"Content-Type": kind} if kind else {}
    answer = server.http.post("/api/v1/skills", content=json.dumps(new_skill("sneaky")).encode(), headers=headers)
    is_error(answer, 415, "UNSUPPORTED_MEDIA_TYPE")
    assert server.api("GET", "/skills/sneaky").status_code == 404


def test_a_body_over_the_limit_is_refused(server: RunningServer) -> None:
    answer = server.api("POST", "/skills", json=new_skill("too-large", content="x" * (1 << 20)))
    is_error(answer, 413, "PAYLOAD_TOO_LARGE")


@pytest.mark.parametrize("rest", ["skills?limit=1&offset=0", "skills/a%2Fb", "status", "search?q=a+b%26c"])
def test_an_unversioned_path_is_sent_on_to_version_1(server: RunningServer, rest: str) -> None:
    answer = server.http.get(f"/api/{rest}")
    assert (answer.status_code, answer.content) == (308, b"")
    assert answer.headers["Location"] == f"/api/v1/{rest}"


def test_a_redirected_post_arrives_with_its_body(server: RunningServer) -> None:
    answer = server.http.post("/api/skills", json=new_skill("redirected"), follow_redirects=True)
    assert (answer.status_code, answer.json()["data"]["id"]) == (201, "redirected")


@pytest.mark.parametrize(
    "path", ["/api/v1/skills", "/api/v1/nothing", "/api/v1/skills/absent-one", "/api/v1/search?q="]
)
def test_every_answer_of_version_1_says_so(server: RunningServer, path: str) -> None:
    assert server.http.get(path).headers["X-API-Version"] == "v1"
    assert server.http.patch(path).headers["X-API-Version"] == "v1"


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/", "/nothing"])
def test_other_answers_do_not(server: RunningServer, path: str) -> None:
    assert "X-API-Version" not in server.http.get(path).headers


def test_probes_answer_bare(server: RunningServer) -> None:
    health = server.http.get("/healthz")
    assert (health.status_code, set(health.json()), health.json()["status"]) == (200, {"status", "version"}, "ok")
    assert server.http.get("/readyz").status_code == 200


def test_every_answer_has_a_request_id(server: RunningServer) -> None:
    assert server.http.get("/healthz", headers={"X-Request-ID": "mine-1"}).headers["X-Request-ID"] == "mine-1"
    first, second = (server.http.get("/nothing").headers["X-Request-ID"] for _ in range(2))
    assert first != second


def test_large_answers_are_compressed_and_small_ones_are_not(server: RunningServer) -> None:
    for number in range(8):
        server.api("POST", "/skills", json=new_skill(f"bulky-{number}", description="Long words here. " * 20))
    answer = server.api("GET", "/skills", headers={"Accept-Encoding": "gzip"})
    assert answer.headers.get("Content-Encoding") == "gzip"
    assert "Content-Encoding" not in server.http.get("/healthz", headers={"Accept-Encoding": "gzip"}).headers


@pytest.mark.parametrize("path", ["/", "/api/v1/skills", "/nothing", "/schema"])
def test_a_foreign_host_is_refused_everywhere(server: RunningServer, path: str) -> None:
    is_error(server.http.get(path, headers={"Host": "evil.example"}), 403, "FORBIDDEN")


def test_probes_answer_any_host(server: RunningServer) -> None:
    assert server.http.get("/healthz", headers={"Host": "evil.example"}).status_code == 200


def test_a_foreign_page_can_change_nothing(server: RunningServer) -> None:
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}):
        is_error(server.api("POST", "/skills", json=new_skill("foreign"), headers=headers), 403, "FORBIDDEN")
    assert server.api("GET", "/skills/foreign").status_code == 404
    answer = server.api("GET", "/skills", headers={"Origin": "https://evil.example"})
    assert not [name for name in answer.headers if name.lower().startswith("access-control")]


def test_ids_with_a_scope_are_read_with_a_slash_or_its_code(server: RunningServer) -> None:
    for owner in ("alice", "bob"):
        folder = server.skills_dir / owner / "whisper"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"---\nname: whisper\ndescription: Whisper as {owner} does.\n---\nText\n")
    server.wait_for(lambda: server.api("GET", "/skills/bob/whisper").status_code == 200)
    assert server.api("GET", "/skills/whisper").json()["data"]["description"] == "Whisper as alice does."
    for path in ("/skills/bob/whisper", "/skills/bob%2Fwhisper"):
        assert server.api("GET", path).json()["data"]["scope"] == "bob"
        assert server.api("GET", f"{path}/content").json()["data"]["content"].endswith("Text\n")
        assert server.api("GET", f"{path}/files/SKILL.md").text.endswith("Text\n")


@pytest.mark.parametrize(
    "path", ["../../etc/passwd", "..%2f..%2fetc/passwd", "%2e%2e/x", "/etc/passwd", "a\\b", "x%00y"]
)
def test_files_outside_a_skill_are_never_served(server: RunningServer, path: str) -> None:
    server.api("POST", "/skills", json=new_skill("contained"))
    raw = f"GET /api/v1/skills/contained/files/{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    with socket.create_connection((server.http.base_url.host, server.http.base_url.port)) as connection:
        connection.sendall(raw.encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answer.split()[1] in (b"400", b"404")
    assert b"root:" not in answer


def test_a_link_that_leaves_the_skill_is_not_followed(server: RunningServer) -> None:
    server.api("POST", "/skills", json=new_skill("linked"))
    (server.skills_dir / "linked" / "passwd").symlink_to("/etc/passwd")
    answer = server.api("GET", "/skills/linked/files/passwd")
    assert answer.status_code in (400, 404)
    assert "root:" not in answer.text


@pytest.mark.parametrize(
    ("name", "inline"), [("page.html", True), ("image.svg", False), ("notes.md", True), ("data.bin", False)]
)
def test_files_are_never_served_as_pages(server: RunningServer, name: str, inline: bool) -> None:
    server.api("POST", "/skills", json=new_skill("filed")) if not (server.skills_dir / "filed").exists() else None
    (server.skills_dir / "filed" / name).write_text("<script>alert(1)</script>")
    answer = server.api("GET", f"/skills/filed/files/{name}")
    assert answer.text == "<script>alert(1)</script>"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Type"] == ("text/plain; charset=utf-8" if inline else "application/octet-stream")


def test_rendered_text_is_safe_to_show(server: RunningServer) -> None:
    content = "# Title\n\n<script>alert(1)</script>\n\n[x](javascript:alert(1)) ![p](https://evil.example/p.png)\n"
    server.api("POST", "/skills", json=new_skill("rendered", content=content))
    html = server.api("GET", "/skills/rendered/content?format=html").json()["data"]["content"]
    assert "<h1>Title</h1>" in html
    assert not any(word in html for word in ("<script", "javascript:", "evil.example"))


def test_sql_is_only_text(server: RunningServer) -> None:
    hostile = "'; drop table skills; --"
    for answer in (
        server.http.get("/api/v1/search", params={"q": hostile}),
        server.api("POST", "/skills", json=new_skill("quoted", author=hostile)),
    ):
        assert answer.is_success
    assert server.api("GET", "/skills/quoted").json()["data"]["author"] == hostile
    assert server.http.get(f"/api/v1/skills/{hostile}").status_code == 404


def test_a_request_is_one_line_of_the_log_whatever_it_holds(server: RunningServer) -> None:
    server.http.get("/nothing%0d%0aforged", headers={"User-Agent": "x\x1b[2J"})
    lines = [line for line in server.log.read_text().splitlines() if "forged" in line]
    assert len(lines) == 1
    assert "\x1b" not in lines[0]
