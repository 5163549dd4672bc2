"""Background work yields to searches in flight, for a limited time."""

import threading
import time

from search.in_flight import InFlight


def test_yielding_ends_with_the_last_search() -> None:
    in_flight, ended = InFlight(), []

    def search() -> None:
        with in_flight:
            time.sleep(0.01)
            ended.append(time.monotonic())

    threads = [threading.Thread(target=search) for _ in range(2)]
    for thread in threads:
        thread.start()
    in_flight.yield_to_foreground()
    assert len(ended) == 2
    for thread in threads:
        thread.join()


def test_yielding_is_limited_in_time() -> None:
    in_flight = InFlight()
    with in_flight:
        started = time.monotonic()
        in_flight.yield_to_foreground()
        assert 0.02 < time.monotonic() - started < 60


def test_yielding_returns_at_once_without_searches() -> None:
    in_flight = InFlight()
    with in_flight:
        pass
    started = time.monotonic()
    for _ in range(1000):  # each of which would wait 0.02 s and more
        in_flight.yield_to_foreground()
    assert time.monotonic() - started < 15
