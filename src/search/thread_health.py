"""The health of the background threads of this process: no thread dies silently.

A thread does its work within `ThreadHealth.attempt`, which survives whatever the work raises: it logs, counts, and says
when to try again. Between two attempts it waits with `rest`, which needs no memory. `thread_states` is what `/status`
and `/metrics` show.
"""

import contextlib
import logging
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from search.backoff import Backoff

_REST_SECONDS = 1.0


class ThreadState(NamedTuple):
    """What the threads of one name have done so far.

    Attributes:
        failures: How many attempts have failed.
        last_success: The time of the last attempt that succeeded, in seconds since 1970; None if none did.
        problem: Why the last attempt failed; None if it succeeded.
    """

    failures: int
    last_success: float | None
    problem: str | None


class ThreadHealth(Backoff):
    """The health of one thread. Safe to read from other threads.

    Args:
        name: The name under which it is shown. Threads with the same name count as one.
        log: Gets the failures.
        expected: Errors of an outage, which are logged in one line. Others are logged with a traceback.
        longest: The longest pause after a failure, in seconds.
    """

    def __init__(
        self,
        name: str,
        log: logging.Logger,
        expected: tuple[type[BaseException], ...] = (),
        longest: float = 60.0,
    ) -> None:
        super().__init__(longest)
        self.name = name
        self.failures = 0
        self.last_success: float | None = None
        self.is_active = True
        """Whether the thread is wanted. The problem of a stopped one is not shown."""
        self._log = log
        self._expected = expected
        with _LOCK:
            _ALL.add(self)

    @contextmanager
    def attempt(self, ending: threading.Event | None = None) -> Iterator[None]:
        """Do the work of the block. Nothing that it raises leaves the block; an error after `ending` is ignored."""
        try:
            yield
        except BaseException as error:
            if ending is None or not ending.is_set():
                with contextlib.suppress(Exception):  # without memory, there may be no line in the log either
                    self.failed_by(error)
        else:
            self.succeeded()

    def failed_by(self, error: BaseException) -> None:
        """Record and log a failed attempt. The problem names the kind of the error only: the rest may be private."""
        self.failures += 1
        self.failed(f"it fails ({type(error).__name__}); it is tried again, and the log says more")
        seconds = self.seconds_left()
        if isinstance(error, self._expected):
            self._log.warning("%s failed and is tried again in %.0f s: %s", self.name, seconds, error)
        else:
            self._log.error("%s failed and is tried again in %.0f s", self.name, seconds, exc_info=error)

    def succeeded(self) -> None:
        """Record an attempt that succeeded."""
        super().succeeded()
        self.last_success = time.time()


def started(work: Callable[[], None], name: str, health: ThreadHealth) -> threading.Thread | None:
    """Return a new thread that runs `work`; None, with a failed attempt, if no thread can be started now."""
    thread = threading.Thread(target=work, name=name, daemon=True)
    try:
        thread.start()
    except RuntimeError as error:  # too many threads, or no memory for one
        health.failed_by(error)
        return None
    return thread


def rest(event: threading.Event, seconds: float) -> bool:
    """Wait for an event, at most `seconds`, and return whether it is set.

    A wait takes a new lock, and a thread for which there is no memory for that would end. It sleeps for a second
    instead.
    """
    try:
        return event.wait(seconds)
    except Exception:
        time.sleep(_REST_SECONDS)
        return event.is_set()


_ALL: "weakref.WeakSet[ThreadHealth]" = weakref.WeakSet()
_LOCK = threading.Lock()


def thread_states() -> dict[str, ThreadState]:
    """Return the state of the background threads of this process, by name."""
    with _LOCK:
        every = list(_ALL)
    states: dict[str, ThreadState] = {}
    for health in sorted(every, key=lambda health: health.name):
        former = states.get(health.name, ThreadState(0, None, None))
        states[health.name] = ThreadState(
            former.failures + health.failures,
            max(filter(None, (former.last_success, health.last_success)), default=None),
            former.problem or (health.problem if health.is_active else None),
        )
    return states
