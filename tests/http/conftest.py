"""One server for the tests of a module; every test uses skills of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.code_v1 import Code
from support.servers import RunningServer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder: Path = tmp_path_factory.mktemp("server")
    with RunningServer(folder) as running:
        yield running
        status = running.status()
        assert (status["pending"], status["drift"]) == (0, 0)
        assert not list(running.skills_dir.glob(".skill-registry-*"))


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """The registry profile, where programs on this machine get tokens; callers may ask as often as they like."""
    plenty = ("--limits-reads-per-minute", "1000000", "--limits-writes-per-minute", "1000000")
    with RunningServer(tmp_path_factory.mktemp("registry"), "--profile", "registry", *plenty) as running:
        yield running
        status = running.status()
        assert (status["pending"], status["drift"]) == (0, 0)


@pytest.fixture(scope="module")
def code(registry: RunningServer) -> Code:
    """The code v1 API, for a manager."""
    return Code(registry)
