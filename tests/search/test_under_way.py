"""Background work lets searches go first, for as long as one may take."""

import threading
import time

from search.under_way import UnderWay


def test_who_gives_way_goes_on_when_the_last_search_ends() -> None:
    searches, ended = UnderWay(), []

    def search() -> None:
        with searches:
            time.sleep(0.01)
            ended.append(time.monotonic())

    threads = [threading.Thread(target=search) for _ in range(2)]
    for thread in threads:
        thread.start()
    searches.give_way()
    assert len(ended) == 2
    for thread in threads:
        thread.join()


def test_work_goes_on_however_long_a_search_takes() -> None:
    searches = UnderWay()
    with searches:
        started = time.monotonic()
        searches.give_way()
        assert 0.02 < time.monotonic() - started < 60


def test_nobody_waits_for_nothing() -> None:
    searches = UnderWay()
    with searches:
        pass
    started = time.monotonic()
    for _ in range(1000):  # each of which would wait 0.02 s and more
        searches.give_way()
    assert time.monotonic() - started < 15
