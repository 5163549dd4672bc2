"""Background work lets searches go first, for as long as one may take."""

import threading
import time

from search.in_flight import InFlight


def test_who_gives_way_goes_on_when_the_last_search_ends() -> None:
    searches, ended = InFlight(), []

    def search() -> None:
        with searches:
            time.sleep(0.01)
            ended.append(time.monotonic())

    threads = [threading.Thread(target=search) for _ in range(2)]
    for thread in threads:
        thread.start()
    searches.yield_to_foreground()
    assert len(ended) == 2
    for thread in threads:
        thread.join()


def test_work_goes_on_however_long_a_search_takes() -> None:
    searches = InFlight()
    with searches:
        started = time.monotonic()
        searches.yield_to_foreground()
        assert 0.02 < time.monotonic() - started < 5


def test_nobody_waits_for_nothing() -> None:
    searches = InFlight()
    with searches:
        pass
    started = time.monotonic()
    for _ in range(100):
        searches.yield_to_foreground()
    assert time.monotonic() - started < 1
