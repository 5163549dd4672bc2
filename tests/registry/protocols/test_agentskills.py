"""The conformance suite of agentskills-testing, through agentskills-http, against the tree of both profiles."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.publishing import Registry, skill_package
from support.routes import REGISTRY_MODE
from support.servers import RunningServer, write_skill

SUITE = Path(__file__).parents[2] / "support/agentskills_suite.py"
NAME = "conformance-skill"
FILES = {
    "references/notes.md": b"# Notes\n\nA reference document.\n",
    "scripts/run.sh": b"#!/bin/sh\necho conformance\n",
    "assets/diagram.svg": b"<svg></svg>\n",
}


def run_suite(folder: Path, url: str, token: str) -> str:
    """Run the suite in a folder of its own, and return what it prints."""
    environment = {**os.environ, "TREE_URL": url, "TREE_TOKEN": token, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    options = ["-q", "-p", "pytest_asyncio.plugin", "-c", os.devnull, "--noconftest", "--rootdir", str(folder)]
    command = [sys.executable, "-m", "pytest", *options, str(SUITE)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@pytest.mark.parametrize("profile", ["local", REGISTRY_MODE])
def test_all_tests_of_the_suite_pass(tmp_path: Path, profile: str) -> None:
    if profile == "local":
        skill = write_skill(tmp_path / "skills", NAME, "Shows that providers conform.")
        for path, data in FILES.items():
            (skill / path).parent.mkdir()
            (skill / path).write_bytes(data)
        with RunningServer(tmp_path) as server:
            printed = run_suite(tmp_path, f"{server.url}/tree", "")
    else:
        with Registry(tmp_path) as registry:
            job = registry.finished(registry.publish(skill_package(NAME, files=FILES)))
            assert job["status"] == "accepted", job
            token = registry.caller("reader", "user")["Authorization"].removeprefix("Bearer ")
            printed = run_suite(tmp_path, f"{registry.url}/tree/acme", token)
    assert re.search(r"^48 passed", printed, re.MULTILINE), printed
