"""The browser of the tests, the benchmarks and the screenshots."""

import shutil

from playwright.sync_api import Browser, Playwright

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""Commands, the best first: the shell has no window, and takes half of the processor time of a whole browser."""


def launch(playwright: Playwright, *arguments: str) -> Browser:
    """Start the browser. Raises FileNotFoundError."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        raise FileNotFoundError(f"One of {', '.join(NAMES)} is needed on the PATH: `make programs` installs the first")
    return playwright.chromium.launch(executable_path=path, args=["--no-sandbox", *arguments])
