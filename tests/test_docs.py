"""What the documentation lists is what there is."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from registry.cli.main import main
from registry.config.settings import SETTINGS, load_settings
from registry.http.app import create_app
from registry.services.container import Services

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
HTTP = (ROOT / "docs/http.md").read_text(encoding="utf-8")
HTTP_OF_PROFILE = {"local": HTTP, "registry": (ROOT / "docs/http-registry.md").read_text(encoding="utf-8")}


def served(folder: Path, profile: str) -> set[str]:
    """Return the operations of a profile's OpenAPI document, as `GET /path/{}`; a scoped id counts as an id.

    The registry profile is taken in registry mode, which only adds to it.
    """
    flags: dict[str, Any] = {"skills_dir": str(folder / "skills"), "data_dir": str(folder / "data")}
    if profile == "registry":
        flags |= {"registry.enabled": True, "blobs.dir": str(folder / "blobs"), "registryIndex.url": "/index.git"}
    services = Services(load_settings(flags | {"embedding.provider": "none", "profile": profile}, {}))
    paths = create_app(services).openapi_schema.to_schema()["paths"]
    services.close()
    return {
        f"{method.upper()} {nameless(path)}"
        for path, operations in paths.items()
        for method in operations
        if method in {"get", "post", "put", "patch", "delete"}
    }


def nameless(path: str) -> str:
    return re.sub(r"\{[^}]*\}", "{}", re.sub(r"\{[^}]*scope\}/\{[^}]*name\}", "{id}", path))


@pytest.mark.parametrize("profile", ["local", "registry"])
def test_every_route_is_documented_and_nothing_else(tmp_path: Path, profile: str) -> None:
    rows = re.findall(r"^\| `([A-Z]+) (/\S*)` \|", HTTP_OF_PROFILE[profile], re.MULTILINE)
    assert {f"{method} {nameless(path)}" for method, path in rows} == served(tmp_path, profile)


@pytest.mark.parametrize("document", ["README.md", "docs/http-registry.md", "deploy/helm/skill-registry/README.md"])
def test_what_is_generated_is_up_to_date(document: str) -> None:
    command = [sys.executable, "-m", "cogapp", "-I", "tests", "--check", "--diff", document]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_setting_is_documented() -> None:
    for setting in SETTINGS:
        assert f"| `{setting.key}` |" in README


def test_every_command_is_documented() -> None:
    told = set(re.findall(r"^skill-registry ([\w-]+)  ", README, re.MULTILINE))
    assert told == set(main.commands)


def test_links_lead_somewhere() -> None:
    for document in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), f"{document.name}: {target}"
