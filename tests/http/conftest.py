"""One server for the tests of a module; every test uses skills of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.servers import RunningServer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder: Path = tmp_path_factory.mktemp("server")
    with RunningServer(folder) as running:
        yield running
        status = running.status()
        assert (status["pending"], status["drift"]) == (0, 0)
        assert not list(running.skills_dir.glob(".skill-registry-*"))
