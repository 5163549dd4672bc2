"""Fixtures of the tests of `deploy/`."""

import pytest

from support.deployment import Chart, unpack_helm


@pytest.fixture(scope="session")
def chart(tmp_path_factory: pytest.TempPathFactory) -> Chart:
    home = tmp_path_factory.mktemp("helm")
    return Chart(unpack_helm(home), home)
