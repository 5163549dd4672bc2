"""`Accept: text/markdown` on the content of a skill."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.servers import RunningServer, write_skill


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder: Path = tmp_path_factory.mktemp("markdown")
    write_skill(folder / "skills", "pdf-forms", "Fill in pdf forms.", body="# Förms\n\n<script>alert(1)</script>\n")
    with RunningServer(folder) as running:
        yield running


@pytest.mark.parametrize(
    "accept", ["text/markdown", "text/markdown, */*;q=0.1", "text/markdown, application/json;q=0.9"]
)
def test_the_file_alone_is_returned_to_who_asks_for_markdown(server: RunningServer, accept: str) -> None:
    answer = server.api("GET", "/skills/pdf-forms/content", headers={"Accept": accept})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "Accept" in answer.headers["Vary"]
    assert answer.content == (server.skills_dir / "pdf-forms" / "SKILL.md").read_bytes()


@pytest.mark.parametrize("accept", ["*/*", "application/json", "text/html", "nonsense", ""])
def test_everybody_else_gets_the_envelope(server: RunningServer, accept: str) -> None:
    answer = server.api("GET", "/skills/pdf-forms/content", headers={"Accept": accept})
    assert "Förms" in answer.json()["data"]["content"]
    assert "Accept" in answer.headers["Vary"]


def test_html_stays_in_the_envelope(server: RunningServer) -> None:
    answer = server.api("GET", "/skills/pdf-forms/content?format=html", headers={"Accept": "text/markdown"})
    assert answer.json()["data"]["format"] == "html"
    assert "<script" not in answer.json()["data"]["content"]


def test_an_error_is_an_envelope(server: RunningServer) -> None:
    answer = server.api("GET", "/skills/absent/content", headers={"Accept": "text/markdown"})
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "SKILL_NOT_FOUND"
