"""Parts of a service: one that cannot begin keeps no other from beginning, and is tried again."""

import time

from registry.runtime.startup import Part, Startup


class Work:
    """Work that cannot begin so many times."""

    def __init__(self, failures: int = 0) -> None:
        self.failures = failures
        self.begun = self.ended = 0

    def begin(self) -> None:
        if self.failures:
            self.failures -= 1
            raise OSError("/secret/place")
        self.begun += 1

    def end(self) -> None:
        self.ended += 1


def test_a_part_that_fails_keeps_no_other_from_beginning_and_is_tried_again() -> None:
    bad, good = Work(failures=2), Work()
    starting = Startup([Part("bad", bad.begin, bad.end), Part("good", good.begin, good.end)])
    assert not starting.begin()
    assert (bad.begun, good.begun) == (0, 1)
    assert "OSError" in starting.problems()["bad"]
    assert "secret" not in starting.problems()["bad"]
    until = time.monotonic() + 60
    while not starting.begin():
        assert time.monotonic() < until
        time.sleep(0.02)
    assert (bad.begun, good.begun, starting.problems()) == (1, 1, {})


def test_what_has_ended_may_begin_again() -> None:
    bad, good = Work(failures=1), Work()
    starting = Startup([Part("bad", bad.begin, bad.end), Part("good", good.begin, good.end)])
    starting.begin()
    starting.end()
    assert (bad.ended, good.ended, starting.problems()) == (1, 1, {})
    assert starting.begin()
    assert (bad.begun, good.begun) == (1, 2)
