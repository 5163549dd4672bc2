"""Limits of a child process that works on input from elsewhere, set before its program runs.

A shell sets them and becomes the program: Python code between fork and exec may deadlock in a process with threads. The
processes that the program starts inherit the limits. Where a system refuses one, as macOS does for the address space,
the others hold.
"""

from collections.abc import Sequence
from typing import NamedTuple

_SHELL = "/bin/sh"
_BLOCK = 512
"""The unit of `ulimit -f`, in bytes (POSIX.1-2017)."""

_OPEN_FILES = 256

_LIMITS = ("-c 0", "-n {files}", "-v {kilobytes}", "-t {seconds}", "-f {blocks}")
_SCRIPT = "".join(f"ulimit {limit} 2>/dev/null\n" for limit in _LIMITS) + 'exec "$@"'


class ProcessLimits(NamedTuple):
    """The limits of one process: its address space in bytes, processor time, and the size of a file in bytes."""

    memory_bytes: int
    cpu_seconds: int
    file_bytes: int

    def command(self, program: Sequence[str]) -> Sequence[str]:
        """Return a command line that sets the limits and becomes `program`, whose first part is a path."""
        script = _SCRIPT.format(
            files=_OPEN_FILES,
            kilobytes=self.memory_bytes >> 10,
            seconds=self.cpu_seconds,
            blocks=-(-self.file_bytes // _BLOCK),
        )
        return (_SHELL, "-c", script, program[0], *program)
