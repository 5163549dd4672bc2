"""What a package says of the skills that it needs: where it may say it, and who reads it."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.publishing import Registry
from support.zips import plain_zip

OCR = {"id": "acme/ocr", "range": ">=2,<4"}
PDF = {"id": "acme/pdf", "range": "^1.2"}


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with Registry(tmp_path_factory.mktemp("dependencies")) as running:
        yield running


def package(name: str, needs: str = "", table: str = "") -> bytes:
    metadata = f"metadata:\n  dependencies: {json.dumps(needs)}\n" if needs else ""
    text = f"---\nname: {name}\ndescription: Does {name} things with great care.\n{metadata}---\n# Body\n"
    project = {"skill-project.toml": f"[dependencies]\n{table}".encode()} if table else {}
    return plain_zip({"SKILL.md": text.encode(), **project})


def published(registry: Registry, name: str, needs: str = "", table: str = "") -> None:
    job = registry.finished(registry.publish(package(name, needs, table)), synced=True)
    assert job["status"] == "accepted", job


@pytest.mark.parametrize(
    ("needs", "table"),
    [
        ("acme/pdf@^1.2, acme/ocr@>=2,<4", ""),
        ("", '"acme/pdf" = "^1.2"\n"acme/ocr" = {version = ">=2,<4"}\n'),
    ],
)
def test_dependencies_are_read_wherever_a_skill_is(registry: Registry, needs: str, table: str) -> None:
    name = "reader" if needs else "tabled"
    published(registry, name, needs, table)
    (line,) = (json.loads(text) for text in registry.get(f"/index/acme/{name}").text.splitlines())
    assert line["deps"] == [OCR, PDF]
    shown = ["acme/ocr@>=2,<4", "acme/pdf@^1.2"]
    assert registry.get(f"/api/v1/skills/acme/{name}").json()["data"]["dependencies"] == shown
    assert registry.get(f"/api/v1/skills/acme/{name}/versions/1.0.0").json()["data"]["dependencies"] == shown
    changes = registry.get("/api/v1/registry/index/changes?after=0").json()["data"]["changes"]
    assert [change["skill"]["dependencies"] for change in changes if change["id"] == f"acme/{name}"] == [shown]


def test_the_skills_that_need_one_are_listed(registry: Registry) -> None:
    for name in ("needs-a", "needs-b"):
        published(registry, name, "acme/base@~1.4")
    published(registry, "base")
    answer = registry.get("/api/v1/skills/acme/base/dependents?limit=1").json()
    assert answer["pagination"]["total"] == 2
    assert answer["data"] == [{"id": "acme/needs-a", "version": "1.0.0", "range": "~1.4", "installed": False}]
    assert registry.get("/api/v1/skills/acme/needs-a/dependents").json()["data"] == []
    assert registry.get("/api/v1/skills/acme/nobody/dependents").status_code == 404


@pytest.mark.parametrize(
    ("needs", "table", "reason"),
    [
        ("pdf", "", "'pdf' must be scope/name"),
        ("Acme/Pdf", "", "'Acme/Pdf' must be scope/name"),
        ("acme/pdf@1.2", "", "'1.2' must be a version such as 1.4.0, or a range"),
        ("acme/pdf@^1, acme/pdf@^2", "", "'acme/pdf' is named twice"),
        (", ".join(f"acme/s{number}" for number in range(201)), "", "at most 200 are allowed"),
        ("acme/pdf@^1", '"acme/pdf" = "^2"\n', "name different ones"),
        ("", '"acme/pdf" = 1\n', "must have a range as a text"),
        ("", '"acme/pdf" = {origin = {type = "git", url = "https://x.example/a.git"}}\n', "has an origin"),
        ("acme/itself", "", "must not need itself"),
    ],
)
def test_what_is_wrong_is_said_and_published_nowhere(registry: Registry, needs: str, table: str, reason: str) -> None:
    answer = registry.publish(package("itself", needs, table))
    assert answer.status_code == 400, answer.text
    assert reason in answer.text
    assert registry.get("/index/acme/itself").status_code == 404


def test_plugins_name_the_plugins_that_they_need(registry: Registry, tmp_path: Path) -> None:
    published(registry, "starter", "acme/part@^1, other/elsewhere@*")
    published(registry, "part")
    clone = tmp_path / "clone"
    token = registry.caller("reader", "user")["Authorization"]
    command = ["git", "-c", f"http.extraHeader=Authorization: {token}", "clone", "--quiet"]
    subprocess.run([*command, f"{registry.url}/git/marketplace.git", str(clone)], check=True)
    manifest = json.loads((clone / "plugins" / "starter" / ".claude-plugin" / "plugin.json").read_text())
    assert manifest["dependencies"] == ["part"]
    assert "dependencies" not in json.loads((clone / "plugins/part/.claude-plugin/plugin.json").read_text())
