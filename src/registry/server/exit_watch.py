"""Ends a process whose stop takes too long. The exit code says whether a request was given up.

A stop has stages, and each has its time. As long as requests are in flight, a process that does not end has failed
them: its exit code is 1, and the stacks of its threads say why. When none is left, nothing can be lost any more,
because every change was on the disk before its response. So a thread that does not end then only costs time: the exit
code is 0, however busy the machine is.
"""

import faulthandler
import logging
import os
import threading

_log = logging.getLogger("registry.server")

_STUCK_SECONDS = 20.0
"""How much longer a process may take that ought to end itself but cannot: all of its threads are held."""


class ExitWatch:
    """The time of the present stage of a stop."""

    def __init__(self) -> None:
        self._timer: threading.Timer | None = None

    def fail_after(self, seconds: float) -> None:
        """Exit with code 1 after `seconds` and print the stacks, whatever the threads do until then."""
        self._cancel()
        faulthandler.dump_traceback_later(seconds, exit=True)

    def leave_after(self, seconds: float) -> None:
        """Exit with code 0 after `seconds`."""
        self.fail_after(seconds + _STUCK_SECONDS)
        self._timer = threading.Timer(seconds, _leave, [seconds])
        self._timer.daemon = True
        self._timer.start()

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _leave(seconds: float) -> None:
    _log.warning("Stopped, without waiting more than %g s for what does not end by itself", seconds)
    os._exit(0)
