"""One server on either database for the tests of a module; every test uses skills of its own."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from support.code_v1 import Code
from support.install_world import World, install_world
from support.routes import REGISTRY_MODE
from support.servers import RunningServer
from support.site import Site, running_site


def _is_settled(server: RunningServer) -> bool:
    status = server.status()
    return (status["pending"], status["drift"]) == (0, 0)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, database_setting: Mapping[str, str]) -> Iterator[RunningServer]:
    folder: Path = tmp_path_factory.mktemp("server")
    with RunningServer(folder, env=database_setting) as running:
        yield running
        running.wait_for(lambda: _is_settled(running))
        assert not list(running.skills_dir.glob(".skill-registry-*"))


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory, database_setting: Mapping[str, str]) -> Iterator[RunningServer]:
    """The registry profile, where programs on this machine get tokens; callers may ask as often as they like."""
    plenty = ("--limits-reads-per-minute", "1000000", "--limits-writes-per-minute", "1000000")
    folder = tmp_path_factory.mktemp("registry")
    with RunningServer(folder, "--profile", "registry", *plenty, env=database_setting) as running:
        yield running
        running.wait_for(lambda: _is_settled(running))


@pytest.fixture(scope="module")
def code(registry: RunningServer) -> Code:
    """The code v1 API, for a manager."""
    return Code(registry)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with install_world(tmp_path_factory.mktemp("install")) as running:
        yield running


@pytest.fixture(scope="module", params=["local", REGISTRY_MODE])
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server of either profile, for what holds for every route."""
    with running_site(tmp_path_factory.mktemp("site"), request.param) as running:
        yield running
