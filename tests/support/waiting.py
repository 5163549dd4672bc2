"""Waiting for what happens soon, and not failing on a slow machine."""

import time
from collections.abc import Callable

PATIENCE_SECONDS = 180.0
"""How long a test waits before it fails: far longer than anything takes on a machine that does much else."""


def wait_until(
    condition: Callable[[], object], seconds: float = PATIENCE_SECONDS, why: Callable[[], object] = lambda: ""
) -> None:
    """Wait until `condition()` holds, looked at often at first; `why()` is added to the failure where it does not."""
    deadline, pause = time.monotonic() + seconds, 0.002
    while not condition():
        assert time.monotonic() < deadline, f"it did not happen in time {why()}"
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)
