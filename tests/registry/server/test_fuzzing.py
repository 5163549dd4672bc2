"""Drawn bytes, cut at drawn places: the server stays alive, answers well or closes, and serves the next caller.

The corpus has a request of each kind. Examples are put together from its pieces, so that most get past the first line.
"""

import itertools
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.endurance import times
from support.raw_http import TinyServer, request, tiny_server

CORPUS = [path.read_bytes() for path in sorted((Path(__file__).parent / "corpus").glob("*.http"))]
PIECES = sorted({piece for whole in CORPUS for piece in re.findall(rb"\r\n|[^\r\n]+", whole)})
DRAWN = st.lists(
    st.sampled_from(CORPUS)
    | st.sampled_from(PIECES)
    | st.binary(max_size=40)
    | st.tuples(st.sampled_from(PIECES), st.integers(1, 2000)).map(lambda drawn: drawn[0] * drawn[1]),
    min_size=1,
    max_size=12,
)


@pytest.fixture(scope="module")
def server() -> Iterator[TinyServer]:
    with tiny_server() as server:
        yield server


def memory(server: TinyServer) -> int:
    """Return the memory of the process in pages."""
    return int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1])


@pytest.mark.endurance
@settings(max_examples=times(1000), deadline=None, suppress_health_check=list(HealthCheck))
@given(DRAWN, st.lists(st.integers(0, 100_000), max_size=5))
def test_whatever_comes_is_answered_or_closed(server: TinyServer, drawn: list[bytes], cuts: list[int]) -> None:
    sent = b"".join(drawn)[:200_000]
    places = sorted({0, len(sent), *(cut % (len(sent) + 1) for cut in cuts)})
    with server.connect() as connection:
        with suppress(OSError):
            for start, end in itertools.pairwise(places):
                connection.send(sent[start:end])
            connection.no_more()
        with suppress(ConnectionResetError):
            answer = connection.rest()
            assert answer == b"" or re.match(rb"HTTP/1\.1 [1-5]\d\d ", answer)
    assert server.process.poll() is None
    assert server.ask(request("GET", "/readyz")).status == 200
    assert memory(server) < 75_000
    assert not [line for line in server.lines if '"level":"error"' in line]
