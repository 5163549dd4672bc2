"""The processors that this process may use."""

import os


def usable_processors() -> int:
    """Return how many processors this process may use: on Linux those it is bound to, elsewhere all."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
