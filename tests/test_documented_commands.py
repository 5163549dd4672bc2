"""Every command of the documentation works as written, on a copy of the repository, against servers it starts."""

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from support.documented import Command, Reader, agrees, blocks
from support.postgres_server import PostgresServer

ROOT = Path(__file__).parents[1]
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("deploy/**/README.md")))
}
BLOCKS = [block for page, text in PAGES.items() for block in blocks(page, text)]

NOT_RUN: Mapping[str, str] = {
    "docs/README.md: pip install": "it needs a package index; tests/clients/test_installers.py installs so",
    "docs/postgresql.md: pip install": "it needs a package index",
    "docs/commands.md: skill-registry install acme/starter": "it needs a pack: install/test_dependencies.py",
    "docs/http-registry.md: skill-registry sources add corp": "it needs another registry: registry/mirrors",
    "docs/http-registry.md: skill-registry mirror corp": "it needs another registry: registry/mirrors",
    "docs/operations.md: skill-registry admin backup /backups/2026-11-21 --dump": "it needs PostgreSQL and AWS's S3",
    "docs/operations.md: mkdir -p .skill-registry/scopes": "it needs a private scope with a backup",
    "docs/publishing.md: skill-registry reviews list": "a package must wait: examples/review-tour.sh does it",
    "docs/tours.md: ": "scripts in examples/ print this page: test_docs.py runs them",
    "deploy/README.md: docker build": "it needs Docker; tests/deploy checks the files that it reads",
    "deploy/helm/skill-registry/README.md: helm install": "it needs a cluster; tests/deploy renders the chart",
}
"""The blocks that cannot run here, by the beginning of their name, and why."""

SCAN = "cp -r examples/skills . && skill-registry scan"
BEFORE: Mapping[str, tuple[str, ...]] = {
    "docs/fsck.md": (SCAN,),
    "docs/operations.md": (
        "mkdir -p /srv/registry /backups && cp -r examples/skills /srv/registry",
        "cd /srv/registry && git init --quiet --bare --initial-branch=main index.git",
        """cat >registry.toml <<END
registry.enabled = true
blobs.dir = "packages"
registryIndex.url = "$PWD/index.git"
END""",
        "printf '[metadata]\\nid = \"shop\"\\n' >skill-project.toml",
        "skill-registry serve",
        "skill-registry publish skills/csv-cleanup",
    ),
    "docs/postgresql.md": (SCAN,),
}
"""What the commands of a page presuppose."""


def reason(name: str) -> str | None:
    """Return why a block does not run here."""
    return next((why for start, why in NOT_RUN.items() if name.startswith(start)), None)


RUN = {page: [block for block in BLOCKS if block.page == page and not reason(block.name)] for page in PAGES}


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    """A reader of a page, with a copy of what its commands use, after `make install`."""
    clone = tmp_path / "clone"
    clone.mkdir()
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, clone)
    os.utime(clone / "pyproject.toml", (0, 0))  # it is older than what was installed: nothing is installed again
    for name in ("examples", "tests/support"):
        shutil.copytree(ROOT / name, clone / name, ignore=shutil.ignore_patterns("__pycache__"))
    (clone / ".venv").symlink_to(ROOT / ".venv")
    stand_ins = {folder: f"{tmp_path}{folder}" for folder in ("/srv", "/backups", "/var/lib")}
    reader = Reader(clone, tmp_path / "home", stand_ins)
    yield reader
    reader.stop()


def test_the_readme(reader: Reader) -> None:
    run(reader, "README.md")
    reader.stop()
    reader.run(Command('skill-registry search "fill a PDF form"'))


@pytest.mark.parametrize(
    "page", [page for page in PAGES if RUN[page] and page not in {"README.md", "docs/postgresql.md"}]
)
def test_a_page(reader: Reader, page: str) -> None:
    reader.run(Command(". .venv/bin/activate"))
    run(reader, page)


def test_the_page_of_postgresql(reader: Reader, postgres: PostgresServer) -> None:
    reader.stand_ins["postgresql://registry:password@db.example/registry"] = postgres.new_database()
    reader.run(Command(". .venv/bin/activate"))
    run(reader, "docs/postgresql.md")


def run(reader: Reader, page: str) -> None:
    for text in BEFORE.get(page, ()):
        reader.run(Command(text))
    for block in RUN[page]:
        for command in block.commands:
            reader.run(command)


def test_every_block_that_is_not_run_exists() -> None:
    for start in NOT_RUN:
        assert any(block.name.startswith(start) for block in BLOCKS), start


@pytest.mark.parametrize("page", PAGES)
def test_commands_are_in_blocks_that_run(page: str) -> None:
    prose = re.sub(r"^```.*?^```", "", PAGES[page], flags=re.MULTILINE | re.DOTALL)
    assert not re.findall(r"^ {4}(?:skill-registry|make|curl|docker|helm|git|pip|cd|cp) .*", prose, re.MULTILINE)


@pytest.mark.parametrize(
    ("printed", "agreed"),
    [
        ("0.61 high  tea  1.0.0\nResults: 1 (hybrid search, 9.1 ms)\n", True),
        ("0.61 high  tea\n  1.0.0\nResults: 1 (hybrid search, 9.1 ms)\n", True),
        ("0.61 low  tea  1.0.0\nResults: 1 (hybrid search, 9.1 ms)\n", False),
        ("0.61 high  tea  1.0.1\nResults: 1 (hybrid search, 9.1 ms)\n", False),
        ("0.61 high  tea  1.0.0\nResults: 2 (hybrid search, 9.1 ms)\n", False),
    ],
)
def test_outputs_agree_but_for_scores_and_times(printed: str, agreed: bool) -> None:
    assert agrees(printed, "0.78 high  tea  1.0.0\nResults: 1 (hybrid search, 4.0 ms)\n") is agreed
