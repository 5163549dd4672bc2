"""Jobs that cannot start, as no thread can, have failed and hold nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from registry.config.settings import load_settings
from registry.domain.origins import LocalOrigin
from registry.errors import RegistryError
from registry.install.order import InstallOrder
from registry.services.container import Services
from support.servers import write_skill
from support.threads import no_new_threads
from support.waiting import wait_until

ATTEMPTS = 20
"""More than the installations that may run at a time."""


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    write_skill(tmp_path / "skills", "tidy", "Tidies workshops.")
    flags = {"skills_dir": str(tmp_path / "skills"), "data_dir": str(tmp_path / "data"), "embedding.provider": "none"}
    opened = Services(load_settings(flags, {}))
    opened.scan()
    yield opened
    opened.close()


def test_a_reindex_that_cannot_start_has_failed(services: Services) -> None:
    with no_new_threads(), pytest.raises(RegistryError, match="no thread could be started"):
        services.reindexing.start(None, force=True)
    services.reindexing.resume()  # nothing waits for a thread
    job = services.reindexing.start(None, force=True)
    wait_until(lambda: services.reindexing.get(job.job_id).status == "done")


def test_installations_that_cannot_start_take_no_places(services: Services, tmp_path: Path) -> None:
    order = InstallOrder(origin=LocalOrigin(path=str(tmp_path / "absent")))
    with no_new_threads():
        for _ in range(ATTEMPTS):
            with pytest.raises(RegistryError, match="can start no thread"):
                services.install_jobs.start(order)
    job = services.install_jobs.start(order)
    wait_until(lambda: services.install_jobs.get(job.job_id).status == "failed")
