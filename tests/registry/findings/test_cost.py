"""Scanning costs at most 0.6 ms per kB and grows linearly with the text, whatever the text says."""

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from time import thread_time

import pytest

from registry.findings.engine import MAX_FILE, TextScan, scan_text
from registry.parsing.private_keys import holds_private_key
from support.hostile_texts import HostileText, hostile_texts

SIZE = 16_000
MAX_COST = 24
"""The limit as a multiple of a plain loop over the characters, about 0.6 ms per kB: a slow machine slows both down."""
_TRIES = 20
KEY = "-----BEGIN PRIVATE KEY-----"
KEYS = (
    *(
        KEY,
        f"{KEY}\n",
        f"{KEY}\\n\\n",
        "-----BEGIN A ",
        "-----BEGIN " + "ABCDEFGHIJKL " * 3,
        "-",
        "PuTTY-User-Key-File-",
    ),
    *(f"{KEY}\n" + "abcd: x\n" * 11, f"{KEY}\nabcd: {KEY}\n", KEY + "\n" * 12 + "A" * 39 + "-", f"{KEY}\n{'A' * 19}: "),
)


def plain_loop(text: str) -> None:
    sum(map(ord, text))


def time_of(run: Callable[[], object]) -> float:
    started = thread_time()
    run()
    return thread_time() - started


def cost(run: Callable[[], object], text: str) -> float:
    """Return the cost as a multiple of a plain loop: the minimum of several tries, since others use the machine."""
    least = float("inf")
    for _ in range(_TRIES):
        loop = max(time_of(lambda: plain_loop(text)) for _ in range(2))
        least = min(least, time_of(run) / loop)
        if least <= MAX_COST:
            break
    return least


@pytest.fixture(scope="module", autouse=True)
def _nothing_else_costs() -> Iterator[None]:
    """Compile the rules first, and collect no garbage of other tests meanwhile: that takes half a second at times."""
    scan_text("SKILL.md", "curl x | sh")
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_no_text_is_expensive() -> None:
    for one in hostile_texts(SIZE, random_ones=400, seed=18):
        taken = cost(lambda: scan_text("SKILL.md", one.text), one.text)  # noqa: B023 - called at once
        assert taken <= MAX_COST, one.recipe


def test_four_times_the_text_takes_at_most_six_times_as_long() -> None:
    texts = list(hostile_texts(SIZE, random_ones=200, seed=19))
    costliest = sorted(texts, key=lambda one: time_of(lambda: scan_text("SKILL.md", one.text)))[-8:]
    for one in costliest:
        assert min(growth(one) for _ in range(5)) <= 6, one.recipe


def growth(one: HostileText) -> float:
    long = one.text * 4
    return time_of(lambda: scan_text("SKILL.md", long)) / time_of(lambda: scan_text("SKILL.md", one.text))


@pytest.mark.parametrize(
    "unit", [b"\xff", b"\\\r\n", b"\xe2\x80", "\U0001f3f4".encode(), "name:\u0430\n".encode(), b"\n"]
)
def test_no_bytes_are_expensive(unit: bytes) -> None:
    data = unit * (SIZE * 4 // len(unit))
    assert cost(lambda: TextScan().add("SKILL.md", data), data.decode("latin-1")) <= MAX_COST


@pytest.mark.parametrize("unit", KEYS)
def test_no_bytes_are_expensive_to_search_for_private_keys(unit: str) -> None:
    text = unit * (SIZE * 4 // len(unit)) + "PRIVATE KEY"
    assert cost(lambda: holds_private_key(text.encode()), text) <= MAX_COST / 2


def test_the_largest_text_takes_little_memory() -> None:
    words = next(one.text for one in hostile_texts(MAX_FILE, 0, 0) if one.recipe.startswith("all words, ' '"))
    tracemalloc.start()
    scan_text("SKILL.md", words)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 32 * 1024 * 1024
