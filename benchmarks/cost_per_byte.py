"""What a kB of text costs the service, in every field of every route of both profiles: processor time, and its growth.

    python benchmarks/cost_per_byte.py [--only PATH] [--profile local] [--minutes 60] [--json OUT]

The fields are those that the application lists itself: path segments, query parameters, every text of a body, however
deep, bodies as a whole, and headers. Each field gets every text of `tests/support/costly_texts.py`, cut to a part of
what the route takes. The dearest of each field is measured again at a quarter and all of it, and at the longest text
that the field's own rule allows. The processor time is that of the server and of its child processes. The fields are
measured in an order that `--seed` draws, until `--minutes` are over for each profile.
"""

import argparse
import itertools
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import httpx
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from results_file import keep
from support.costly_texts import BODIES, TEXTS
from support.process_table import children
from support.publishing import Registry, skill_package
from support.route_fields import Field, Sent, fields_of, filled, in_headers
from support.routes import REGISTRY_MODE, application
from support.servers import RunningServer, bearer, new_skill

ROUNDS = 2
FINALISTS = 1
LIMITS = {"path": 7_500, "query": 7_500, "header": 14_000, "body": 1_000_000}
"""The most bytes that a place takes, a little below the limits of the service."""
TOO_DEAR_MS_PER_KB, GROWS, NOTICEABLE_MS = 1.0, 2.0, 5.0
"""From `NOTICEABLE_MS` on, a cost is too dear if it grows with the text: an accepted request costs something anyway."""
TOO_STEEP, LONG_MS = 8.0, 20.0
"""From `LONG_MS` on, a cost is superlinear if four times the text costs `TOO_STEEP` times as much."""
PLENTY = ("reads-per-minute", "writes-per-minute", "publishes-per-minute", "token-failures")


class Cost(NamedTuple):
    """What one text in one field costs. `growth` is the ratio for four times the text, None where it is too cheap."""

    field: str
    text: str
    bytes: int
    status: int
    ms: float
    ms_per_kb: float
    growth: float | None

    @property
    def is_bad(self) -> bool:
        """Whether the text costs too much, or grows too fast."""
        is_dear = self.ms_per_kb > TOO_DEAR_MS_PER_KB and (self.growth or 0) > GROWS
        return is_dear or (self.ms > LONG_MS and (self.growth or 0) > TOO_STEEP)


class Server:
    """A running service, and the processor time it has taken."""

    def __init__(self, server: RunningServer, headers: Mapping[str, str]) -> None:
        self._server = server
        self._headers = {name: value.encode() for name, value in headers.items()}
        self._http = httpx.Client(base_url=server.url, timeout=120, trust_env=False)
        self._pid = server.process.pid

    def cost(self, field: Field, text: str) -> tuple[float, int]:
        """Return the milliseconds of processor time that a text takes in a field, and the status of the answer."""
        before = self._spent()
        status = self._ask(field.request(text))
        after = self._spent()
        if 200 <= status < 300:
            self._undo(field)
        return 1_000 * (after - before), status

    def _ask(self, sent: Sent) -> int:
        url = self._http.base_url.copy_with(raw_path=sent.target.encode())
        headers = {**self._headers, **sent.headers}
        with suppress(httpx.HTTPError):
            request = self._http.build_request(sent.method, url, headers=headers, content=sent.body)
            return self._http.send(request).status_code
        return 0

    def _undo(self, field: Field) -> None:
        """Remove what a text may have made, so that the next request meets the same service."""
        if field.method == "POST" and field.path.endswith("/skills"):
            self._ask(Sent("DELETE", filled("/api/v1/manifest/skills/{id}"), {}, None))
            self._ask(Sent("DELETE", filled("/api/v1/skills/{id}"), {}, None))

    def _spent(self) -> float:
        """Return the processor time of the server and of its children, in seconds."""
        return sum(_seconds(pid) for pid in (self._pid, *children(self._pid)))


def _seconds(pid: int) -> float:
    with suppress(OSError):
        return time.clock_gettime((~pid << 3) | 2)  # the processor clock of a process, as clock_getcpuclockid(3) has it
    return 0.0


def measure(server: Server, field: Field, seed: int) -> Iterator[Cost]:
    """Yield the cost of the dearest texts in a field."""
    texts = BODIES if (field.place, field.name) == ("body", "") else TEXTS
    names = sorted(texts)
    random.Random(seed).shuffle(names)
    limit = LIMITS[field.place]
    tiny = min(server.cost(field, "a")[0] for _ in range(ROUNDS))
    first = limit // 4 if field.place != "body" else limit // 32
    quick = {name: server.cost(field, _fitting(field, texts[name], first))[0] for name in names}
    for name in sorted(quick, key=lambda one: -quick[one])[:FINALISTS]:
        sizes = [limit, *([field.longest] if field.longest and field.longest < limit else [])]
        for size in sizes:
            yield _cost(server, field, name, [_fitting(field, texts[name], size // part) for part in (4, 1)], tiny)


def _cost(server: Server, field: Field, name: str, texts: Sequence[str], tiny: float) -> Cost:
    measured = [[server.cost(field, text) for _ in range(ROUNDS)] for text in texts]
    quarter, whole = (max(0.0, min(ms for ms, _ in one) - tiny) for one in measured)
    sent = len(texts[-1].encode("utf-8", "replace"))
    growth = whole / max(quarter, 0.2) if whole >= NOTICEABLE_MS else None
    return Cost(field.title, name, sent, measured[-1][0][1], whole, whole / max(sent / 1_000, 0.1), growth)


def _fitting(field: Field, make: Callable[[int], str], size: int) -> str:
    """Return a text that takes about `size` bytes, and no more, where it is sent."""
    tried = make(1_000)
    sent = field.request(tried)
    taken = {"body": len(sent.body or b""), "header": len(tried.encode())}.get(field.place, len(sent.target))
    return make(max(1, int(size * len(tried) / max(taken, len(tried)))))


def profile_costs(profile: str, only: str, seed: int, minutes: float) -> tuple[int, list[Cost]]:
    """Return the number of fields of a profile, and the costs of those that were measured in time."""
    plenty = [part for name in PLENTY for part in (f"--limits-{name}", "100000000")]
    with tempfile.TemporaryDirectory() as name, application(Path(name) / "app", profile) as app:
        more = itertools.chain(in_headers("GET", "/api/v1/skills"), in_headers("POST", "/api/v1/search"))
        every = (*fields_of(app), *more)
        # A logout takes no text, and would end the token of the run.
        fields = [one for one in every if only in one.title and one.path != "/auth/logout"]
        kind = Registry if profile == REGISTRY_MODE else RunningServer
        with kind(Path(name), *(plenty if profile == REGISTRY_MODE else ())) as running:
            headers = bearer(running.token("admin")) if profile == REGISTRY_MODE else {}
            if isinstance(running, Registry):
                running.finished(running.publish(skill_package("whittle")))
            else:
                running.api("POST", "/skills", json=new_skill("cost-one"))
            server = Server(running, headers)
            return len(fields), list(_costs(server, fields, seed, time.monotonic() + 60 * minutes))


def _costs(server: Server, fields: Sequence[Field], seed: int, deadline: float) -> Iterator[Cost]:
    for field in random.Random(seed).sample(fields, len(fields)):
        if time.monotonic() < deadline:
            yield from measure(server, field, seed)


def main() -> None:
    """Measure both profiles."""
    parser = argparse.ArgumentParser(description="Measure what a kB of text costs in every field of every route.")
    parser.add_argument("--only", default="", help="only fields whose title contains this")
    parser.add_argument("--profile", choices=["local", REGISTRY_MODE], action="append", help="default: both")
    parser.add_argument("--seed", type=int, default=1, help="for the order of the texts")
    parser.add_argument("--minutes", type=float, default=60.0, help="for each profile")
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    results: dict[str, Any] = {}
    for profile in arguments.profile or ["local", REGISTRY_MODE]:
        count, unsorted = profile_costs(profile, arguments.only, arguments.seed, arguments.minutes)
        costs = sorted(unsorted, key=lambda one: -one.ms_per_kb)
        table = Table(
            "field", "text", "bytes", "status", "ms", "ms/kB", "growth", title=f"The dearest fields: {profile}"
        )
        for one in [one for one in costs if one.is_bad] or costs[:15]:
            growth = f"{one.growth:.1f}" if one.growth else ""
            table.add_row(
                one.field, one.text, str(one.bytes), str(one.status), f"{one.ms:.1f}", f"{one.ms_per_kb:.3f}", growth
            )
        Console(width=180).print(table)
        results[profile] = {
            "fields": count,
            "fields measured": len({one.field for one in costs}),
            "too dear or too steep": [one._asdict() for one in costs if one.is_bad],
            "dearest of each field": [one._asdict() for one in _dearest(costs)],
        }
    keep(arguments.json, results)


def _dearest(costs: Sequence[Cost]) -> list[Cost]:
    seen: set[str] = set()
    return [one for one in costs if one.field not in seen and not seen.add(one.field)]  # type: ignore[func-returns-value]


if __name__ == "__main__":
    main()
