"""The documentation matches the code: routes, settings, commands, generated parts and links."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from registry.cli.main import COMMANDS
from registry.config.settings import SETTINGS, load_settings
from registry.server.app import create_app
from registry.services.container import Services

ROOT = Path(__file__).parents[1]
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("deploy/**/*.md"))
}
GENERATED = sorted(name for name, text in PAGES.items() if "[[[cog" in text)
HTTP_PAGE = {"local": "docs/http.md", "registry": "docs/http-registry.md"}


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
    rows = re.findall(r"^\| `([A-Z]+) (/\S*)` \|", PAGES[HTTP_PAGE[profile]], re.MULTILINE)
    assert {f"{method} {nameless(path)}" for method, path in rows} == served(tmp_path, profile)


@pytest.mark.parametrize("document", GENERATED)
def test_generated_parts_are_up_to_date(document: str) -> None:
    command = [sys.executable, "-m", "cogapp", "-I", "tests", "--check", "--diff", document]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_setting_is_documented() -> None:
    for setting in SETTINGS:
        assert f"| `{setting.key}` |" in PAGES["docs/settings.md"]


def test_every_command_is_documented() -> None:
    documented = set(
        re.findall(r"^  skill-registry ((?:admin |dev )?[\w-]+)  ", PAGES["docs/commands.md"], re.MULTILINE)
    )
    assert documented == set(COMMANDS)


def test_the_readme_stays_short() -> None:
    assert len(PAGES["README.md"].splitlines()) <= 250


def test_every_decision_note_is_in_their_index() -> None:
    notes = {name.rpartition("/")[2] for name in PAGES if name.startswith("docs/decisions/2")}
    assert set(re.findall(r"\]\((2[\w-]+\.md)\)", PAGES["docs/decisions/README.md"])) == notes


def anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", sorted(PAGES))
def test_links_lead_somewhere(page: str) -> None:
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)", PAGES[page]):
        path = (ROOT / page).parent / target if target else ROOT / page
        assert path.exists(), target
        if anchor:
            assert anchor in anchors(path.read_text(encoding="utf-8")), f"{target}#{anchor}"
