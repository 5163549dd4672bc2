"""What the documentation lists is what there is."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from litestar import Litestar

from registry.app import create_app
from registry.cli import main
from registry.services import Services
from registry.settings import SETTINGS, load_settings

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
HTTP = (ROOT / "docs/http.md").read_text(encoding="utf-8")


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Litestar]:
    flags: dict[str, Any] = {"skills_dir": str(tmp_path / "skills"), "data_dir": str(tmp_path / "data")}
    services = Services(load_settings(flags | {"embedding.provider": "none"}, {}))
    yield create_app(services)
    services.close()


def served(app: Litestar) -> set[str]:
    """Return the operations of the OpenAPI document, as `GET /path/{}`; a scoped id counts as an id."""
    paths = app.openapi_schema.to_schema()["paths"]
    return {
        f"{method.upper()} {nameless(path)}"
        for path, operations in paths.items()
        for method in operations
        if method in {"get", "post", "put", "patch", "delete"}
    }


def nameless(path: str) -> str:
    return re.sub(r"\{[^}]*\}", "{}", re.sub(r"\{[^}]*scope\}/\{[^}]*name\}", "{id}", path))


def test_every_route_is_documented_and_nothing_else(app: Litestar) -> None:
    told = {
        f"{method} {nameless(path)}" for method, path in re.findall(r"^\| `([A-Z]+) (/\S*)` \|", HTTP, re.MULTILINE)
    }
    assert told == served(app)


def test_the_table_of_settings_is_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "cogapp", "--check", "README.md"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for setting in SETTINGS:
        assert f"| `{setting.key}` |" in README


def test_every_command_is_documented() -> None:
    told = set(re.findall(r"^skill-registry (\w+)  ", README, re.MULTILINE))
    assert told == set(main.commands)


def test_links_lead_somewhere() -> None:
    for document in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), f"{document.name}: {target}"
