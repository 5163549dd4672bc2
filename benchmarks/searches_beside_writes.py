"""Searches beside writes: the p95 of new searches while another client creates skills, against searches alone.

    python benchmarks/searches_beside_writes.py [--skills 2000] [--writes 17] [--rounds 10] [--json OUT]

One service in the local profile, without embedding, answers the same number of new searches in turns: alone, and while
a client creates that many skills a second. So the ratio of a round hardly depends on what else the machine does; the
median of the rounds counts.
"""

import argparse
import itertools
import json
import statistics
import sys
import threading
import time
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import load
from corpora import entries
from in_turns import both_versions, mixed_queries
from results_file import keep
from support.servers import new_skill


class Writer:
    """Creates skills at a steady rate, in a thread, until the end of its block."""

    def __init__(self, http: httpx.Client, name: str, rate: float) -> None:
        self._http = http
        self._name = name
        self._rate = rate
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._write)
        self.milliseconds: list[float] = []

    def _write(self) -> None:
        due = time.perf_counter()
        for number in itertools.count():
            if self._ended.wait(max(0.0, due - time.perf_counter())):
                return
            due += 1 / self._rate
            started = time.perf_counter()
            self._http.post("/api/v1/skills", json=new_skill(f"{self._name}-{number}")).raise_for_status()
            self.milliseconds.append((time.perf_counter() - started) * 1000)

    def __enter__(self) -> "Writer":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()


def main() -> None:
    """Measure rounds of searches, alone and beside writes."""
    parser = argparse.ArgumentParser(description="Search alone and beside writes, in turns.")
    parser.add_argument("--skills", type=int, default=2000, help="skills that are there before")
    parser.add_argument("--writes", type=float, default=17.0, help="writes a second")
    parser.add_argument("--searches", type=int, default=400, help="searches of a round, alone and beside writes")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    skills = entries(None)[: arguments.skills]
    queries = mixed_queries(skills)
    rounds: list[dict[str, float]] = []
    writes: list[float] = []
    with both_versions((".",), skills, None, workers=1) as (service,):
        port = service.local_port

        def searches() -> load.Load:
            texts = itertools.islice(queries, arguments.searches)
            bodies = [json.dumps({"query": text, "mode": "keyword"}).encode() for text in texts]
            return load.run(port, [load.request("/api/v1/search", port, body) for body in bodies], 1)

        searches()  # warms up
        for number in range(arguments.rounds):
            alone = searches()
            with Writer(service.local, f"made-{number}", arguments.writes) as writer:
                beside = searches()
            writes += writer.milliseconds
            rounds.append({"alone": alone.p95, "beside": beside.p95, "ratio": beside.p95 / alone.p95})
            print(rounds[-1], flush=True)
    results: dict[str, Any] = {"skills before": len(skills), "writes a second": arguments.writes}
    results |= {
        f"p95, {name}": round(statistics.median(one[name] for one in rounds), 3)
        for name in ("alone", "beside", "ratio")
    }
    results["a write, median ms"] = round(statistics.median(writes), 2)
    print(results)
    keep(arguments.json, results)


if __name__ == "__main__":
    main()
