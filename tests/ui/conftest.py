"""A real browser over both profiles. Whatever it complains of, or asks of anybody else, fails the test."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from support.browser import launch
from support.pages import OTHER_HOST, ListedServer, Watched
from support.waiting import PATIENCE_SECONDS


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ListedServer]:
    """The local profile."""
    with ListedServer(tmp_path_factory.mktemp("local")) as running:
        running.wait_for(running.listed)
        yield running


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ListedServer]:
    """The registry profile, which hands tokens to callers on its own machine."""
    with ListedServer(tmp_path_factory.mktemp("registry"), "--profile", "registry") as running:
        yield running


@pytest.fixture(scope="module")  # while it is there, no other test of the process can run an event loop
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=1000 * PATIENCE_SECONDS)
    with sync_playwright() as playwright:
        made = launch(playwright, f"--host-resolver-rules=MAP {OTHER_HOST} 127.0.0.1")
        yield made
        made.close()


@pytest.fixture
def watched(browser: Browser) -> Iterator[Watched]:
    made = Watched(browser)
    yield made
    made.close()


@pytest.fixture
def show(watched: Watched, server: ListedServer) -> Callable[..., Page]:
    """Open a page of the local profile."""
    return lambda path="/", **options: watched.open(server.url, path, **options)
