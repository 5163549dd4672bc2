"""`/llms.txt` and `/robots.txt`: what agents and crawlers find at the root."""

import re
from pathlib import Path
from urllib.robotparser import RobotFileParser

import pytest

from support.publishing import Registry
from support.servers import RunningServer, write_skill


def allowed(text: str, path: str) -> bool:
    parser = RobotFileParser()
    parser.parse(text.splitlines())
    return parser.can_fetch("crawler", path)


def test_every_address_for_agents_works(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "pdf-forms", "Fill in pdf forms.")
    with RunningServer(tmp_path) as server:
        answer = server.http.get("/llms.txt")
        assert answer.headers["content-type"].startswith("text/plain")
        assert answer.text.startswith("# Skill Registry\n\n> ")
        assert "{" not in answer.text.replace("{id}", "").replace("{path}", "").replace('{"', "")
        found = re.findall(r"`GET (\S+)`", answer.text)
        assert len(found) == 4
        for address in found:
            assert address.startswith(f"{server.url}/api/v1/"), address
            path = address.replace("{id}", "pdf-forms").replace("{path}", "SKILL.md")
            assert server.http.get(path).status_code == 200, path
        posts = re.findall(r"`POST (\S+)`", answer.text)
        assert [server.http.post(path, json={}).status_code for path in posts] == [400, 400, 400]
        links = re.findall(r"\]\((\S+)\)", answer.text)
        assert {link.removeprefix(server.url) for link in links} >= {"/mcp", "/schema/openapi.json", "/feed.atom"}
        assert "No credential is needed" in answer.text


def test_the_public_url_is_the_address(tmp_path: Path) -> None:
    with RunningServer(tmp_path, "--public-url", "https://skills.example.org/base") as server:
        text = server.http.get("/llms.txt").text
    assert "https://skills.example.org/base/api/v1/search?q=" in text
    assert "127.0.0.1" not in text


def test_a_protocol_that_is_off_is_not_named(tmp_path: Path) -> None:
    with RunningServer(tmp_path, "--protocol", "tree") as server:
        text = server.http.get("/llms.txt").text
    assert "/mcp" not in text
    assert "git clone" not in text


@pytest.mark.parametrize("is_open", [False, True])
def test_a_registry_says_whether_a_credential_is_needed(tmp_path: Path, is_open: bool) -> None:
    with Registry(tmp_path, *(["--auth-anonymous-read"] if is_open else [])) as registry:
        agents, crawlers = registry.http.get("/llms.txt"), registry.http.get("/robots.txt")
        assert agents.status_code == crawlers.status_code == 200
        assert ("No credential is needed" in agents.text) == is_open
        assert ("x-api-key" in agents.text) != is_open
        assert allowed(crawlers.text, "/skills/acme/pdf-forms") == is_open
        assert not allowed(crawlers.text, "/api/v1/skills")


def test_crawlers_read_nothing_of_a_local_service(tmp_path: Path) -> None:
    with RunningServer(tmp_path) as server:
        text = server.http.get("/robots.txt").text
    assert not allowed(text, "/")
    assert not allowed(text, "/skills/pdf-forms")
