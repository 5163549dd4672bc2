"""The services of both profiles, and boxes for clients."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clients.running import Box
from clients.services import Service, service


@pytest.fixture(scope="module", params=["local", "open registry"])
def open_service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that asks for no token."""
    with service(tmp_path_factory.mktemp("service"), request.param) as running:
        yield running


@pytest.fixture(scope="module", params=["local", "private registry"])
def any_service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that asks for a token where its profile can."""
    with service(tmp_path_factory.mktemp("service"), request.param) as running:
        yield running


@pytest.fixture
def box(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Box]:
    """Return a client, installed, by its name with its version. Tests of the small ones are marked as such."""

    def made(name: str) -> Box:
        one = Box(name, tmp_path / "home")
        assert one.client.is_small == bool(request.node.get_closest_marker("small")), name
        return one

    return made
