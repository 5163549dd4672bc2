"""The order of test files: the longest first, so that none of them is left for one worker at the end.

`durations.json` beside this file says how many seconds each file of at least one second takes. Files are known by their
names, so that a file keeps its entry when it moves. `make test ARGS=--store-durations` measures those that run anew.
"""

import json
import os
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

TABLE = Path(__file__).with_name("durations.json")
_LEAST_SECONDS = 1


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--store-durations", action="store_true", help="measure the table that orders the test files")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--store-durations"):
        config.pluginmanager.register(_Durations())


@pytest.hookimpl(trylast=True)  # after the order that fixtures ask for, which stays as it is within a file
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: -measured_seconds(item.path))


def measured_seconds(file: Path) -> int:
    """Return how many seconds the tests of a file take together; 0 for less than one."""
    return _table().get(file.name, 0)


@cache
def _table() -> dict[str, int]:
    seconds: dict[str, int] = json.loads(TABLE.read_text())
    return seconds


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Servers, browsers and databases are mostly waited for: a core has work for two. The fast set has none."""
    return (1 if config.getoption("--fast") else 2) * (os.cpu_count() or 1)


class _Durations:
    """Adds up how long each file takes, and writes the table at the end; workers tell their controller."""

    def __init__(self) -> None:
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[Path(report.fspath).name] += report.duration

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workerinput"):
            return
        seconds = json.loads(TABLE.read_text()) | self._seconds
        table = {name: round(seconds[name]) for name in sorted(seconds) if seconds[name] >= _LEAST_SECONDS}
        TABLE.write_text(json.dumps(table, indent=2) + "\n")
