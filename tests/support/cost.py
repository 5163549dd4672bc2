"""What reading a text costs, in multiples of a plain pass over it: a measure that fast and slow machines agree on."""

import gc
import time
from collections.abc import Callable, Iterable

ROUNDS = 3


def cpu_seconds(action: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Return the processor time of this thread, the least of several rounds; of one that takes a second, once.

    No garbage is collected meanwhile: that of the tests before can take half a second.
    """
    least = float("inf")
    gc.disable()
    try:
        for _ in range(rounds):
            started = time.thread_time()
            action()
            least = min(least, time.thread_time() - started)
            if least > 1:
                break
    finally:
        gc.enable()
    return least


def passes(read: Callable[[str], object], text: str, rounds: int = ROUNDS) -> float:
    """Return how many plain passes over a text reading it is worth. A plain pass takes about 0.05 ms/kB."""
    return cpu_seconds(lambda: read(text), rounds) / cpu_seconds(lambda: sum(map(ord, text)))


def dearest(read: Callable[[str], object], texts: Iterable[tuple[str, str]]) -> tuple[float, str]:
    """Return the cost of the text that costs most, in plain passes, and its name.

    All are read once, and only those again that may cost most: more rounds never say that a text costs more.
    """
    once = sorted(((passes(read, text, 1), name, text) for name, text in texts), reverse=True)
    most = (0.0, "")
    for cost, name, text in once:
        if cost <= most[0]:
            break
        most = max(most, (passes(read, text), name))
    return most
