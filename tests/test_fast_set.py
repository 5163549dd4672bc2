"""The fast set, `make test-fast`: which tests are in it, and that none of them leaves its process."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.suite_sources import SuiteSources

TESTS = Path(__file__).parent
MAKEFILE = (TESTS.parent / "Makefile").read_text()
SOURCES = SuiteSources(TESTS)

HIDDEN = """
def test_hides_it():
    __import__("subprocess").run(["true"])
def test_swallows_the_refusal():
    try:
        __import__("subprocess").run(["true"])
    except RuntimeError:
        pass
def test_sends():
    import socket
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.1", 9))
def test_stays():
    import socket
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()
"""
SHOWN = """
import subprocess
import pytest
@pytest.fixture
def started():
    return subprocess.run(["true"])
def helper():
    subprocess.run(["true"])
class Helper:
    run = helper
def test_by_a_fixture(started): pass
def test_by_helpers(): Helper.run()
@pytest.mark.outside
def test_by_its_mark(): eval("helper")()
def test_in_the_set(): pass
"""


def run(folder: Path, text: str, *options: str) -> str:
    file = folder / "test_some.py"
    file.write_text(text)
    (folder / "pytest.ini").write_text(f"[pytest]\npythonpath = {TESTS}\nmarkers = outside\n")
    command = [sys.executable, "-m", "pytest", "-p", "support.fast_set", "-p", "no:cacheprovider", "-vv", *options]
    environment = os.environ | {"PYTHONPATH": str(TESTS)}
    done = subprocess.run(
        [*command, file], capture_output=True, text=True, check=False, timeout=180, cwd=folder, env=environment
    )
    return done.stdout + done.stderr


def test_a_test_that_leaves_its_process_fails(tmp_path: Path) -> None:
    said = run(tmp_path, HIDDEN)
    assert {"test_hides_it FAILED", "test_swallows_the_refusal FAILED", "test_sends FAILED"} <= results(said), said
    assert "test_stays PASSED" in results(said)
    assert "LeavesProcess: subprocess.Popen true" in said


def test_what_the_sources_show_is_not_in_the_set(tmp_path: Path) -> None:
    assert results(run(tmp_path, SHOWN, "--fast")) == {"test_in_the_set PASSED"}
    assert {text.split()[1] for text in results(run(tmp_path, SHOWN))} == {"PASSED"}  # the others may do it


def results(said: str) -> set[str]:
    return {f"{name} {result}" for name, result in re.findall(r"::(\w+) (PASSED|FAILED|ERROR)", said)}


@pytest.mark.parametrize(
    ("name", "loads"),
    [
        ("registry/domain/test_labels.py", True),
        ("ui/test_browse.py", False),  # a browser
        ("registry/database/test_postgres.py", False),  # PostgreSQL
        ("registry/protocols/test_mcp.py", False),  # the SDK of the protocol
    ],
)
def test_what_needs_other_packages_is_not_imported(name: str, loads: bool) -> None:
    assert SOURCES.loads(TESTS / name) == loads


def test_its_packages_come_without_those_of_the_other_tests() -> None:
    assert re.search(
        r"^test-fast: \$\(or \$\(wildcard .venv/installed-dev\),.venv/installed-test\)", MAKEFILE, re.MULTILINE
    )
    rule = re.search(r"^\.venv/installed-test: \.venv/installed\n((?:\t.+\n)+)", MAKEFILE, re.MULTILINE)
    assert rule
    assert re.findall(r"\$\(INSTALL\) (.+)", rule[1]) == ["test"]
