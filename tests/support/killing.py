"""kill -9 at a chosen step of a real process: `strace` tells each step it takes, and the process ends right after it.

A step is a system call that changes something outside the process: a file, a folder, or what a socket's other end has
heard. Calls to the same file one after the other are one step, but each message is its own. The process pauses after
each, so that it is killed before it takes the next, or soon after where it pauses for less than that takes.
"""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Self

from support.processes import Process

_CALLS = (
    "write,pwrite64,writev,fsync,fdatasync,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,rmdir,"
    "ftruncate,sendto"
)
_INSIDE = ("<anon_inode:", "<pipe:", "server.log>", "<... ", "/dev/null>", "exited with", "killed by", "strace: ")
"""What stands in the lines of calls that change nothing that could be found later."""

_ATTEMPTS = 10
_ATTACH_SECONDS = 10.0


class Steps:
    """Follows a process and all it starts, from the beginning of the `with` block to its end.

    Args:
        process: The process, which must be running.
        kill_at: The number of the step after which it is killed, from 1 on; None only counts.
        pause: How many milliseconds the process rests after each step.
    """

    def __init__(self, process: Process, kill_at: int | None = None, pause: float = 3) -> None:
        self._process = process
        self._kill_at = kill_at
        self._pause = pause
        self.taken: list[str] = []
        self.killed = threading.Event()

    def __enter__(self) -> Self:
        for _ in range(_ATTEMPTS):
            self._attach()
            if self._is_traced_in_time():
                return self
            self._detach()
            self.taken.clear()
        raise AssertionError("strace cannot follow every thread of the process")

    def _attach(self) -> None:
        options = ["-f", "-qq", "-y", "-s", "0", "-e", "signal=none", "-e", f"trace={_CALLS}"]
        pause = f"inject={_CALLS}:delay_exit={self._pause * 1000:.0f}"
        self._tracer = subprocess.Popen(
            ["strace", *options, "-e", pause, "-p", str(self._process.pid)], stderr=subprocess.PIPE, text=True
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _is_traced_in_time(self) -> bool:
        """Wait for strace: it looks for threads once, and one that another begins just then escapes it for good."""
        deadline = time.monotonic() + _ATTACH_SECONDS
        while time.monotonic() < deadline:
            if _is_traced(self._process.pid):
                return True
            assert self._tracer.poll() is None, "strace cannot follow the process"
            time.sleep(0.005)
        return False

    def _read(self) -> None:
        assert self._tracer.stderr is not None
        last = ""
        for line in self._tracer.stderr:
            step = _step(line)
            if not step or (step == last and "sendto" not in step):
                continue
            last = step
            self.taken.append(step)
            if len(self.taken) == self._kill_at:
                kill_all(self._process.pid)
                self._tracer.kill()  # a process that was killed in a stop of strace may stay there until it lets go
                self.killed.set()

    def __exit__(self, *error: object) -> None:
        self._detach()

    def _detach(self) -> None:
        self._tracer.kill()  # asked to end it may wait for ever for what was killed; the system lets go of the rest
        self._tracer.wait()
        self._reader.join()
        assert self._tracer.stderr is not None
        self._tracer.stderr.close()


def _is_traced(pid: int) -> bool:
    """Return whether every thread of a process is traced."""
    with contextlib.suppress(FileNotFoundError):
        return not any("TracerPid:\t0\n" in path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/status"))
    return False


def _step(line: str) -> str:
    """Return what a line of strace tells as a step: the call and what it is done to; nothing where it is none."""
    if any(word in line for word in _INSIDE):
        return ""
    call, _, rest = line.rpartition("] ")[2].partition("(")
    opening, closing = ("<", ">") if rest[:1].isdigit() else ('"', '"')
    target = rest.partition(opening)[2].partition(closing)[0]
    return "write indexes" if "/indexes/" in target else f"{call.strip()} {target}"


def freeze(pid: int) -> list[int]:
    """Stop a process and all it has started, as a machine that is paused does; return their ids."""
    family = [pid]
    for one in family:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            os.kill(one, signal.SIGSTOP)
            for path in Path(f"/proc/{one}/task").glob("*/children"):
                family += [int(child) for child in path.read_text().split()]
    return family


def thaw(family: Iterable[int]) -> None:
    """Let stopped processes go on."""
    _send(family, signal.SIGCONT)


def kill_all(pid: int) -> None:
    """End a process and all it has started, as a power cut or the end of a container does."""
    _send(freeze(pid), signal.SIGKILL)


def _send(family: Iterable[int], number: int) -> None:
    for one in family:
        with contextlib.suppress(ProcessLookupError):
            os.kill(one, number)


def waiting(command: Sequence[str], env: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    """Start a command that does nothing until a line is written to its input."""
    line = ["sh", "-c", 'read go && exec "$@"', "sh", *command]
    pipe = subprocess.PIPE
    return subprocess.Popen(line, stdin=pipe, stdout=pipe, stderr=pipe, env=env)
