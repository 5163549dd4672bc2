"""Background threads: an error ends no thread, is counted and shown, and the work is tried again."""

import logging
import threading

import pytest

from search.thread_health import ThreadHealth, ThreadState, rest, started, thread_states
from support.threads import no_new_threads
from support.waiting import PATIENCE_SECONDS

LOG = logging.getLogger("search")


class Panic(BaseException):
    """What a library in Rust raises where it panics."""


def state_of(name: str) -> ThreadState:
    return thread_states()[name]


@pytest.mark.parametrize("error", [ValueError("secret"), MemoryError(), RecursionError(), Panic("secret")])
def test_an_error_is_counted_and_shown_until_the_next_success(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    name = f"an example with {type(error).__name__}"
    health = ThreadHealth(name, LOG)
    for _ in range(2):
        with health.attempt():
            raise error
    failed = state_of(name)
    assert (failed.failures, failed.last_success) == (2, None)
    assert failed.problem is not None
    assert type(error).__name__ in failed.problem
    assert "secret" not in failed.problem
    assert not health.is_due()
    assert len(caplog.records) == 2
    assert caplog.records[0].exc_info
    with health.attempt():
        pass
    after = state_of(name)
    assert (after.failures, after.problem, health.is_due()) == (2, None, True)
    assert after.last_success is not None


def test_an_outage_is_logged_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    health = ThreadHealth("an outage", LOG, (OSError,))
    with health.attempt():
        raise FileNotFoundError(2, "No such file")
    assert [(record.levelname, record.exc_info) for record in caplog.records] == [("WARNING", None)]


def test_what_a_stop_interrupts_is_no_failure() -> None:
    health, ending = ThreadHealth("an end", LOG), threading.Event()
    ending.set()
    with health.attempt(ending):
        raise OSError("the connection was closed")
    assert state_of("an end") == ThreadState(0, None, None)


def test_threads_of_one_name_are_shown_as_one_and_stopped_ones_without_their_problem() -> None:
    first, second = ThreadHealth("twins", LOG), ThreadHealth("twins", LOG)
    for health in (first, second):
        with health.attempt():
            raise ValueError
    assert state_of("twins").failures == 2
    assert state_of("twins").problem
    first.is_active = second.is_active = False
    assert state_of("twins") == ThreadState(2, None, None)


def test_a_wait_that_fails_is_a_pause() -> None:
    event = threading.Event()
    assert rest(event, float("inf")) is False  # as without memory: a wait of this length raises
    event.set()
    assert rest(event, float("inf")) is True


def test_a_thread_that_cannot_start_is_a_failure_and_may_start_later() -> None:
    health, done = ThreadHealth("a start", LOG), threading.Event()
    with no_new_threads():
        assert started(done.set, "a start", health) is None
    assert state_of("a start").failures == 1
    assert started(done.set, "a start", health) is not None
    assert done.wait(PATIENCE_SECONDS)
