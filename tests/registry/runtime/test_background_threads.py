"""Threads of the service survive whatever their work raises, and try again."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from registry.db import DatabaseUnavailable
from registry.runtime.leader_election import LeaderElection
from registry.runtime.periodic_worker import PeriodicWorker
from search.thread_health import thread_states
from support.waiting import PATIENCE_SECONDS, wait_until

LOG = logging.getLogger("registry.runtime")


class Work:
    """Work that raises an error the first time, and is counted."""

    def __init__(self, error: BaseException) -> None:
        self.error: BaseException | None = error
        self.rounds = 0
        self.done = threading.Event()

    def round(self) -> float:
        self.rounds += 1
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        self.done.set()
        return PATIENCE_SECONDS


@contextmanager
def running(worker: PeriodicWorker) -> Iterator[PeriodicWorker]:
    worker.start()
    try:
        yield worker
    finally:
        worker.stop()


@pytest.mark.parametrize("error", [ValueError(), MemoryError(), BaseException("a panic"), DatabaseUnavailable("gone")])
def test_a_worker_goes_on_after_any_error(error: BaseException) -> None:
    work = Work(error)
    name = f"goes on after {type(error).__name__}"
    with running(PeriodicWorker(name, work.round, LOG)) as worker:
        assert work.done.wait(PATIENCE_SECONDS)
        wait_until(lambda: worker.health.problem is None)
        state = thread_states()[name]
        assert (state.failures, state.problem) == (worker.health.failures, None) == (1, None)


def test_a_worker_that_fails_is_shown_until_it_is_stopped() -> None:
    def fail() -> float:
        raise ValueError("secret")

    with running(PeriodicWorker("fails", fail, LOG)):
        wait_until(lambda: thread_states()["fails"].problem)
    assert thread_states()["fails"].problem is None


def test_a_pause_that_fails_ends_no_worker() -> None:
    """A wait needs memory, too: without it, the pause raises outside the work."""
    work = Work(ValueError())
    work.error = None
    pauses = iter((float("inf"), PATIENCE_SECONDS))
    with running(PeriodicWorker("pauses", lambda: work.round() and next(pauses), LOG)):
        wait_until(lambda: work.rounds == 2)


def test_new_work_ends_the_pause_after_a_failure() -> None:
    work = Work(ValueError())
    with running(PeriodicWorker("hurries", work.round, LOG)) as worker:
        wait_until(lambda: work.rounds == 1)
        worker.wake()
        assert work.done.wait(PATIENCE_SECONDS)


def test_an_election_that_fails_is_held_again() -> None:
    elect, started, demoted = Work(DatabaseUnavailable("gone")), threading.Event(), threading.Event()
    election = LeaderElection(lambda: bool(elect.round()), started.set, demoted.set, lambda: None)
    election.start()
    try:
        assert started.wait(PATIENCE_SECONDS)
        wait_until(lambda: election.leads)
    finally:
        election.stop()


def test_a_leader_that_cannot_take_up_its_work_gives_it_back_and_tries_again() -> None:
    work, demoted = Work(ValueError()), threading.Event()

    def take_up() -> None:
        work.round()

    election = LeaderElection(lambda: True, take_up, demoted.set, lambda: None)
    election.start()
    try:
        wait_until(lambda: election.leads)
        assert (work.rounds, demoted.is_set()) == (2, True)
    finally:
        election.stop()
