"""The fast set, `make test-fast`: the tests that need nothing but this process, SQLite and the packages of three tools.

A test is in the set if neither it, nor a fixture of it, nor a helper that these name, uses what starts a process or a
package that the extra `test` does not install. This is read from their sources, so nobody keeps a list. What the
sources do not show, such as a process that the service itself starts, the mark `outside` says. Files that take long
are left out too.

The guard holds in every run, `make test` as well: a test of the set fails where it starts a process or sends anything
to another machine.
"""

import importlib.util
import inspect
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.longest_first import measured_seconds
from support.outside_calls import OutsideCalls
from support.suite_sources import SuiteSources

TESTS = Path(__file__).parents[1]
_MOST_SECONDS = 8
"""Of a file, all its tests together: two cores take the set in at most two minutes."""
_SOURCES = SuiteSources(TESTS)
_CALLS = OutsideCalls()
_IN_SET = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fast", action="store_true", help="run only the tests that start no process")
    if importlib.util.find_spec("pytest_timeout") is None:
        parser.addini("timeout", "the limit of a test in seconds, which pytest-timeout would keep")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "timeout(seconds): the limit of pytest-timeout")
    _CALLS.watch()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import what imports a package that is not there: a module, or a folder by its conftest.py."""
    if not config.getoption("--fast"):
        return None
    module = collection_path / "conftest.py" if collection_path.is_dir() else collection_path
    return (module.suffix == ".py" and module.is_file() and not _may_be_in_set(module)) or None


def _may_be_in_set(module: Path) -> bool:
    return measured_seconds(module) <= _MOST_SECONDS and _SOURCES.loads(module)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        item.stash[_IN_SET] = _is_fast(item)
    if config.getoption("--fast"):
        slow = [item for item in items if not item.stash[_IN_SET]]
        items[:] = [item for item in items if item.stash[_IN_SET]]
        config.hook.pytest_deselected(items=slow)


def _is_fast(item: pytest.Item) -> bool:
    if any(item.get_closest_marker(name) for name in ("outside", "endurance")) or not isinstance(item, pytest.Function):
        return False
    used = [(item.path, item.cls.__name__ if item.cls else item.originalname), *_fixtures(item)]
    modules = (item.path, *_conftests(item.path))
    return all(map(_may_be_in_set, modules)) and not any(_SOURCES.is_outside(path, name) for path, name in used)


def _conftests(path: Path) -> Iterator[Path]:
    """Yield the conftest.py of each folder of the tests above a file, where there is one."""
    folders = (folder for folder in path.parents if folder.is_relative_to(TESTS))
    return (file for folder in folders if (file := folder / "conftest.py").is_file())


def _fixtures(item: Any) -> Iterator[tuple[Path, str]]:
    """Yield file and name of each fixture of ours that a test uses."""
    for definitions in item._fixtureinfo.name2fixturedefs.values():
        for definition in definitions:
            function = inspect.unwrap(definition.func)
            code = getattr(function, "__code__", None)
            path = Path(code.co_filename) if code else None
            if path and (path.is_relative_to(TESTS) or path == item.path):
                yield path, function.__qualname__.split(".")[0]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    with _CALLS.refused(item.stash[_IN_SET]):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Guard the test, but not what follows it: there the servers end that other tests of the session have used."""
    with _CALLS.refused(item.stash[_IN_SET]):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Fail a test also where what it called has swallowed the refusal."""
    report: Any = yield
    if (calls := _CALLS.taken()) and report.passed:
        report.outcome = "failed"
        report.longrepr = f"a test of the fast set must not leave its process: {', '.join(calls)}"
    return report
