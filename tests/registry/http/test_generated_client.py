"""A client that openapi-python-client generates from the served document: it lists, searches and installs."""

import importlib
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.publishing import Registry, skill_package
from support.servers import RunningServer, write_skill

CONFIG = {"content_type_overrides": {"application/zip": "application/octet-stream"}, "post_hooks": []}
"""Zips are bytes, which the generator knows by another name only."""

NOT_GENERATED = re.compile(
    r"(?:Unsupported content type|.*Unsupported content_type) "
    r"(?:application/x-git-|application/x-ndjson|application/atom|application/problem|image/svg|\*/\*)"
)
"""Bodies and answers that are neither JSON nor bytes: those of git, lines of JSON, the feed,
problems of APM, badges, and files of any type.
"""

Generate = Callable[[RunningServer], str]


@pytest.fixture
def generate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Generate]:
    """Generate a package from the document of a server, and return its name."""
    name = f"generated_{tmp_path.name.replace('-', '_')}"

    def run(server: RunningServer) -> str:
        document, config = tmp_path / "openapi.json", tmp_path / "config.json"
        document.write_bytes(server.http.get("/schema/openapi.json").content)
        config.write_text(json.dumps(CONFIG))
        program = str(Path(sys.executable).with_name("openapi-python-client"))
        options = ["--path", str(document), "--config", str(config), "--meta", "none"]
        done = subprocess.run(
            [program, "generate", *options, "--output-path", str(tmp_path / "out" / name)],
            capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
        report = done.stdout + done.stderr
        assert done.returncode == 0, report[-5000:]
        assert "ERROR" not in report, report[-5000:]
        reasons = [line for line in report.splitlines() if "nsupported content" in line]
        assert all(NOT_GENERATED.match(line) for line in reasons), reasons
        assert report.count("WARNING") == len(reasons)
        monkeypatch.syspath_prepend(str(tmp_path / "out"))
        return name

    yield run
    for module in [one for one in sys.modules if one.partition(".")[0] == name]:
        del sys.modules[module]


def call(package: str, operation: str, client: Any, *args: Any, **kwargs: Any) -> Any:
    return importlib.import_module(f"{package}.api.{operation}").sync(*args, client=client, **kwargs)


def test_it_lists_searches_and_installs(tmp_path: Path, generate: Generate) -> None:
    write_skill(tmp_path / "skills", "pdf-forms", "Fill in pdf forms and read their fields.", tags="pdf, forms")
    write_skill(tmp_path / "elsewhere", "csv-charts", "Draw charts of the columns of a csv file.")
    with RunningServer(tmp_path) as server:
        package = generate(server)
        models = importlib.import_module(f"{package}.models")
        with importlib.import_module(package).Client(base_url=server.url) as client:
            listed = call(package, "skills.list_skills", client, limit=5)
            assert [card.id for card in listed.data] == ["pdf-forms"]
            assert listed.pagination.total == 1

            found = call(package, "search.search", client, body=models.SearchBody(query="forms", highlight=True))
            assert isinstance(found.data.skills[0].skill, models.Card)
            assert found.data.skills[0].skill.tags == ["pdf", "forms"]
            assert found.data.skills[0].snippet.ranges

            origin = models.LocalOrigin(type_="local", path=str(tmp_path / "elsewhere" / "csv-charts"))
            installed = call(package, "skills.create_skill", client, body=models.SkillRequest(origin=origin))
            assert installed.data.id == "csv-charts"
            assert (tmp_path / "skills" / "csv-charts" / "SKILL.md").is_file()

            again = call(package, "skills.create_skill", client, body=models.SkillRequest(origin=origin))
            assert isinstance(again, models.Failure)
            assert again.error.code == "CONFLICT"
            got = call(package, "skills.get_skill", client, "csv-charts")
            assert got.data.installed
            missing = call(package, "skills.get_skill", client, "absent")
            assert missing.error.code == "SKILL_NOT_FOUND"


def test_it_reads_a_registry_with_a_credential(tmp_path: Path, generate: Generate) -> None:
    with Registry(tmp_path) as server:
        assert server.finished(server.publish(skill_package("whittle")))["status"] == "accepted"
        package = generate(server)
        models, root = importlib.import_module(f"{package}.models"), importlib.import_module(package)
        with root.Client(base_url=server.url) as outsider:
            refused = call(package, "skills.list_skills", outsider)
            assert refused.error.code == "UNAUTHORIZED"
        with root.AuthenticatedClient(base_url=server.url, token=server.token("user")) as client:
            assert [card.id for card in call(package, "skills.list_skills", client).data] == ["acme/whittle"]
            found = call(package, "search.search", client, body=models.SearchBody(query="whittle"))
            assert found.data.skills[0].skill.id == "acme/whittle"
            skill = call(package, "skills.get_skill_scoped", client, "acme", "whittle").data
            assert skill.download_url.endswith("/packages/acme/whittle/1.0.0.zip")
