"""What a start and a single write cost the index of near-copies, in catalogs of several sizes.

    python benchmarks/copies.py [--sizes 10000,100000,1000000] [--writes 2000] [--json OUT]

Every fifth document is a copy. The writes replace documents and add new ones in turns, each as a batch of its own, with
signatures that are known before. The times are of the processor: the median, and the mean, which has its share of what
many writes do together once. A start looks for all copies: with names that no others have, that three skills have, and
that 250 have.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from results_file import keep
from search.copies.index import CopyIndex
from search.copies.likeness import SIGNATURE_WORDS, signature
from search.types import Document, DocumentPut

PAGE = 300
PAGES = 400
BATCH = 500  # writes whose signatures are remembered at once


def index_of(size: int) -> CopyIndex:
    """Return an index of so many documents."""
    signatures = np.random.default_rng(0).integers(1, 2**63, (size, SIGNATURE_WORDS), dtype=np.uint64)
    signatures[-(size // 5) :] = signatures[: size // 5]
    return CopyIndex(np.arange(size), signatures)


def start_of(size: int, of_a_name: int) -> float:
    """Return the processor time, in ms, of a start where so many skills have each name, and a fifth are copies."""
    draw = np.random.default_rng(of_a_name)
    signatures = draw.integers(1, 2**63, (size, SIGNATURE_WORDS), dtype=np.uint64)
    signatures[:, 0] = (np.arange(size) % (size // of_a_name) + 1) << 32 | np.arange(size)
    copies = np.flatnonzero(draw.random(size) < 0.2)
    copies = copies[copies >= size // of_a_name]
    signatures[copies, 1:] = signatures[copies - size // of_a_name, 1:]
    return milliseconds(lambda: CopyIndex(np.arange(size), signatures))


def write(size: int, number: int) -> DocumentPut:
    """Return a change of an old document or a new one, in turns, whose name no other has."""
    draw = np.random.default_rng(number)
    key = size + number if number % 2 else int(draw.integers(size))
    body = " ".join(f"word{word}" for word in draw.integers(0, 1000, 60).tolist())
    return DocumentPut(
        1, Document(key=key, id=f"skill-{key}", name=f"name {number}", description=f"Does {number}.", body=body)
    )


def milliseconds(call: Callable[[], object]) -> float:
    """Return the processor time of a call."""
    started = time.process_time()
    call()
    return 1000 * (time.process_time() - started)


def measure(size: int, writes: int) -> dict[str, float]:
    """Measure single writes, and then searches, in a catalog of a size."""
    index, times = index_of(size), []
    for start in range(0, writes, BATCH):
        changes = [write(size, number) for number in range(start, min(start + BATCH, writes))]
        signature.cache_clear()
        for change in changes:
            signature(change.document)
        times += [milliseconds(lambda change=change: index.apply([change])) for change in changes]
    draw = np.random.default_rng(1)
    pages = [draw.integers(0, size, PAGE) for _ in range(PAGES)]
    return {
        **{f"start, {of_a_name} of a name: ms": start_of(size, of_a_name) for of_a_name in (1, 3, 250)},
        "write: median, ms": statistics.median(times),
        "write: mean, ms": statistics.mean(times),
        "write: most, ms": max(times),
        f"originals of {PAGE}: median, ms": statistics.median(
            milliseconds(lambda page=page: index.originals(page)) for page in pages
        ),
        f"ranks of {PAGE}: median, ms": statistics.median(
            milliseconds(lambda page=page: index.ranks(page)) for page in pages
        ),
    }


def main() -> None:
    """Measure every size asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", default="10000,100000,1000000", help="numbers of skills")
    parser.add_argument("--writes", type=int, default=2000, help="writes at each size")
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    results = {}
    for size in map(int, arguments.sizes.split(",")):
        results[str(size)] = measure(size, arguments.writes)
        print(f"{size:,}:", ", ".join(f"{name} {value:.3f}" for name, value in results[str(size)].items()))
    keep(arguments.json, {"results": results})


if __name__ == "__main__":
    main()
