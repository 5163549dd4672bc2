"""Other processes of this machine, as `/proc` shows them."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from os import kill
from pathlib import Path


def children(pid: int) -> list[int]:
    """Return the processes that any thread of a process has started and that have not been waited for."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sorted({int(one) for task in tasks for one in _children_of_thread(task).split()})


def _children_of_thread(task: Path) -> str:
    try:
        return (task / "children").read_text()
    except (FileNotFoundError, ProcessLookupError):  # the thread has ended since it was listed
        return ""


def inspectors(pid: int) -> list[int]:
    """Return the processes that look into texts and packages for a process."""
    return [one for one in children(pid) if b"registry.inspection" in Path(f"/proc/{one}/cmdline").read_bytes()]


def is_running(pid: int) -> bool:
    """Return whether a process is there and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """Have a process stand still for the block, if it lives that long: as one that is slow without end."""
    kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        if is_running(pid):
            kill(pid, signal.SIGCONT)
