"""A process that can start no thread."""

import contextlib
import resource
import threading
from collections.abc import Iterator
from pathlib import Path

_STACK_BYTES = 1 << 30
"""More than any stack that was kept of an earlier thread."""

_LEFT_BYTES = 256 << 20
"""The address space that is left for everything else."""


@contextlib.contextmanager
def no_new_threads() -> Iterator[None]:
    """Let this process start no thread during the block: there is no address space for another stack."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    before = threading.stack_size(_STACK_BYTES)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + _LEFT_BYTES, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        threading.stack_size(before)
