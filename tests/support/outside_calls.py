"""Refuses to start processes and to connect to other machines, while it is told to, by Python's audit events."""

import ipaddress
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_STARTS = frozenset(
    {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.exec", "os.system", "pty.spawn"}
)
_SENDS = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
_LOCAL_NAMES = ("localhost", "")


class LeavesProcess(RuntimeError):
    """A call that starts a process or connects to another machine."""


class OutsideCalls:
    """What was refused. An audit hook cannot be removed, so it is installed once and looks whether it is to act."""

    def __init__(self) -> None:
        self._refuses = False
        self._calls: list[str] = []

    def watch(self) -> None:
        """Install the hook."""
        sys.addaudithook(self._hear)

    @contextmanager
    def refused(self, refuses: bool) -> Iterator[None]:
        """Refuse these calls in the block, in all threads, if `refuses`."""
        self._refuses = refuses
        try:
            yield
        finally:
            self._refuses = False

    def taken(self) -> list[str]:
        """Return the calls refused since the last time."""
        calls, self._calls = self._calls, []
        return calls

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._refuses and (event in _STARTS or (event in _SENDS and not _stays(arguments[1]))):
            call = f"{event} {arguments[0] if event in _STARTS and arguments else arguments[1:]}"
            self._calls.append(call)
            raise LeavesProcess(call)


def _stays(address: Any) -> bool:
    """Return whether an address is of this machine: loopback, or a file."""
    if not isinstance(address, tuple):
        return True
    try:
        return ipaddress.ip_address(address[0]).is_loopback
    except ValueError:
        return address[0] in _LOCAL_NAMES
