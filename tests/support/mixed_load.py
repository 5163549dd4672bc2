"""Callers of several replicas who write, read, search and publish at once, and remember what they were promised."""

import itertools
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import httpx

from support.killing import kill_all
from support.postgres_server import PostgresServer
from support.publish_kills import SETTLE_SECONDS
from support.publishing import Registry, skill_package
from support.registry_stores import RegistryStores
from support.servers import new_skill
from support.waiting import PATIENCE_SECONDS, wait_until

Answer = httpx.Response | None


class Callers:
    """What all callers share: the replicas, a credential, when to stop, and what they saw.

    With `bears_faults`, a request may fail in any way, and a package may be rejected, because a machine has no memory
    or no space left. `outcomes` counts answers by method and status, with 0 for none. `found_ms` are how long after its
    acknowledgement a write was found through each replica, `searches` how many searches each of them took, and `modes`
    what ranked those.
    """

    def __init__(self, stores: RegistryStores, seed: int = 1, *, bears_faults: bool = False) -> None:
        self.replicas = stores.servers
        self.bears_faults = bears_faults
        self.scope = stores.scope
        self.headers = stores.caller()
        self.drawn = random.Random(seed)
        self.over = threading.Event()
        self.outcomes: Counter[tuple[str, int]] = Counter()
        self.found_ms: list[float] = []
        self.searches: Counter[int] = Counter()
        self.modes: Counter[str] = Counter()
        self._client = httpx.Client(timeout=PATIENCE_SECONDS, trust_env=False)
        self._finders = ThreadPoolExecutor(4 * len(self.replicas))

    def send(self, method: str, path: str, replica: Registry | None = None, **options: Any) -> Answer:
        """Send a request to a replica, any unless one is named; None where no answer comes.

        Raises AssertionError for an answer nobody should ever get.
        """
        url = (replica or self.drawn.choice(self.replicas)).url
        options["headers"] = {**self.headers, **options.get("headers", {})}
        try:
            answer = self._client.request(method, f"{url}{path}", **options)
        except httpx.TransportError:
            self.outcomes[method, 0] += 1
            return None
        self.outcomes[method, answer.status_code] += 1
        if self.bears_faults and answer.is_server_error:
            return None
        assert answer.status_code < 500 or answer.status_code == 503, f"{method} {path}: {answer.text}"
        return answer

    def close(self) -> None:
        """Close what they call through."""
        self._finders.shutdown()
        self._client.close()

    def find(self, word: str, skill_id: str, acknowledged: float) -> None:
        """Search for what was just written through every replica, until it is found."""

        def look(replica: Registry) -> None:
            for searches in itertools.count(1):
                answer = self.send("POST", "/api/v1/search", replica, json={"query": word, "limit": 3})
                if answer is None or not answer.is_success:
                    return  # killed, or without its database: this says nothing about what it would find
                data = answer.json()["data"]
                self.modes[data["mode"]] += 1
                if skill_id in [hit["skill"]["id"] for hit in data["skills"]]:
                    self.found_ms.append((time.monotonic() - acknowledged) * 1000)
                    self.searches[searches] += 1
                    return

        list(self._finders.map(look, self.replicas))


class Ledger:
    """What one caller's skills may be: what was acknowledged last, or what was asked for and not answered.

    That is the author of a skill and the state of a version, None where it is not there.
    """

    def __init__(self) -> None:
        self.possible: dict[str, set[str | None]] = {}

    def known(self, name: str) -> str | None:
        """Return the one thing it can be. Raises ValueError where that is not known."""
        (state,) = self.possible.get(name, {None})
        return state

    def is_known(self, name: str) -> bool:
        """Return whether the last request for it was answered."""
        return len(self.possible.get(name, {None})) == 1

    def ask(self, name: str, wanted: str | None, send: Callable[[], Answer]) -> Answer:
        """Ask for a state and note what may be the case then; only one caller ever asks about a name."""
        before = self.possible.get(name, {None})
        answer = send()
        if answer is None or answer.status_code == 503:
            self.possible[name] = before | {wanted}
        elif answer.is_success or (wanted is None and answer.status_code == 404):
            self.possible[name] = {wanted}
        return answer


class Writer:
    """Creates, changes and deletes records of its own, and reads each through another replica at once."""

    def __init__(self, callers: Callers, number: int) -> None:
        self._callers = callers
        self._number = number
        self.ledger = Ledger()

    def run(self) -> None:
        """Write until it is over."""
        for turn in itertools.count():
            if self._callers.over.is_set():
                return
            name = f"skill-{self._number}-{self._callers.drawn.randrange(40)}"
            self._write(name, f"word{self._number}q{turn}")
            if turn % 7 == 6 and self.ledger.is_known(name) and self.ledger.known(name):
                self._write(name, None)

    def _write(self, name: str, word: str | None) -> None:
        path, send = f"/api/v1/skills/{name}", self._callers.send
        is_known = self.ledger.is_known(name)
        there = is_known and self.ledger.known(name) is not None
        if word is None:
            answer = self.ledger.ask(name, None, lambda: send("DELETE", path))
        elif there:
            body = {"author": word, "description": f"Keeps {word}."}
            answer = self.ledger.ask(name, word, lambda: send("PUT", path, json=body))
        else:
            if not is_known:  # whether it is there or not, it is not afterwards
                self.ledger.ask(name, None, lambda: send("DELETE", path))
            body = new_skill(name, author=word, description=f"Keeps {word}.")
            answer = self.ledger.ask(name, word, lambda: send("POST", "/api/v1/skills", json=body))
        if answer is not None and answer.is_success:
            self._confirm(name, word, answer, time.monotonic())
        elif is_known and answer is not None:
            assert answer.status_code == 503, f"what was acknowledged is not there: {name}, {answer.text}"

    def _confirm(self, name: str, word: str | None, answer: httpx.Response, at: float) -> None:
        """Assert that any replica has the write that was just acknowledged."""
        if word is not None and self._callers.drawn.random() < 0.3:
            self._callers.find(word, name, at)
        seen = self._callers.send("GET", f"/api/v1/skills/{name}")
        if seen is None or seen.status_code == 503:
            return
        author = seen.json()["data"]["author"] if seen.is_success else None
        assert author == word, f"{name} is {author}, and {word} was acknowledged"
        assert word is None or seen.headers["etag"] == answer.headers["etag"]

    def check(self) -> int:
        """Assert that every replica tells of each skill what was acknowledged last; return how many there were."""
        for replica in self._callers.replicas:
            for name, possible in self.ledger.possible.items():
                answer = self._callers.send("GET", f"/api/v1/skills/{name}", replica)
                assert answer is not None
                author = answer.json()["data"]["author"] if answer.is_success else None
                assert author in possible, f"{name} is {author}, and may be {possible}"
        return len(self.ledger.possible)


class Publisher:
    """Publishes versions of one skill, and yanks every third of them."""

    def __init__(self, callers: Callers, number: int) -> None:
        self._callers = callers
        self._name = f"package-{number}"
        self.ledger = Ledger()
        self.jobs: set[str] = set()

    def run(self) -> None:
        """Publish until it is over."""
        for number in itertools.count():
            if self._callers.over.is_set():
                return
            version = f"1.{number}.0"
            package = skill_package(self._name, version)
            headers = {"Idempotency-Key": f"{self._name}-{version}"}
            if not (job := self._submit(version, package, headers)) or not self._accepted(job) or number % 3:
                continue
            path = f"/api/v1/registry/skills/{self._callers.scope}/{self._name}/{version}/yank"
            self.ledger.ask(version, "yanked", partial(self._callers.send, "POST", path))

    def _submit(self, version: str, package: bytes, headers: dict[str, str]) -> str | None:
        def send() -> Answer:
            files = {"package": ("package.zip", package)}
            return self._callers.send("POST", "/api/registry/publish", files=files, headers=headers)

        answer = self.ledger.ask(version, "active", send)
        if answer is None or not answer.is_success:
            return None
        job = str(answer.json()["data"]["job_id"])
        self.jobs.add(job)
        return job

    def _accepted(self, job: str) -> bool:
        """Wait until a job has ended; return whether it has while callers still call."""
        while not self._callers.over.wait(0.1):
            answer = self._callers.send("GET", f"/api/registry/publish/{job}/status")
            if answer is not None and answer.is_success:
                data = answer.json()["data"]
                if data["status"] == "rejected":
                    assert self._callers.bears_faults, answer.text
                    self.ledger.possible[data["version"]] = {None}
                    return False
                if data["status"] == "accepted":
                    return True
        return False

    def check(self, rows: list[tuple[Any, ...]]) -> int:
        """Assert that each version is what was acknowledged last; `rows` are (id, version, state) of the database."""
        states = {
            version: state for skill_id, version, state in rows if skill_id == f"{self._callers.scope}/{self._name}"
        }
        for version, possible in self.ledger.possible.items():
            assert states.get(version) in possible, f"{version} is {states.get(version)}, and may be {possible}"
        return len(self.ledger.possible)


class Reader:
    """Reads, lists and searches through any replica."""

    def __init__(self, callers: Callers) -> None:
        self._callers = callers

    def run(self) -> None:
        """Read until it is over."""
        paths = ("/api/v1/skills?limit=20", "/api/v1/search?q=keeps+skill", "/api/v1/skills/skill-0-1")
        for path in itertools.cycle(paths):
            if self._callers.over.wait(0.02):
                return
            self._callers.send("GET", path)


class MixedLoad:
    """Replicas with writers, publishers and readers, and what those were promised."""

    def __init__(
        self,
        stores: RegistryStores,
        replicas: int,
        *,
        writers: int,
        publishers: int,
        readers: int,
        seed: int = 1,
        bears_faults: bool = False,
    ) -> None:
        for _ in range(replicas):
            stores.server()
        self._stores = stores
        self.callers = Callers(stores, seed, bears_faults=bears_faults)
        self._writers = [Writer(self.callers, number) for number in range(writers)]
        self._publishers = [Publisher(self.callers, number) for number in range(publishers)]
        self._readers = [Reader(self.callers) for _ in range(readers)]

    def run(self, postgres: PostgresServer, seconds: float, every: float) -> int:
        """Call for so long, and until something was found, while replicas and once the database are killed.

        A replica is killed every so many seconds. Return the kills. Raises AssertionError where a caller was told what
        cannot be.
        """
        with self.calling():
            kills = self._disturb(postgres, seconds, every)
            # On a slow machine, replicas start for longer than the pause between two kills.
            wait_until(lambda: bool(self.callers.searches))
            return kills

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Call during the block. Raises AssertionError where a caller was told what cannot be."""
        everybody: list[Writer | Publisher | Reader] = [*self._writers, *self._publishers, *self._readers]
        with ThreadPoolExecutor(len(everybody)) as pool:
            running = [pool.submit(one.run) for one in everybody]
            try:
                yield
            finally:
                self.callers.over.set()
            for one in running:
                one.result()

    def _disturb(self, postgres: PostgresServer, seconds: float, every: float) -> int:
        started, kills, is_whole = time.monotonic(), 0, True
        while (gone := time.monotonic() - started) < seconds:
            time.sleep(every * self.callers.drawn.uniform(0.5, 1.5))
            if is_whole and gone > seconds / 2:
                postgres.crash()
                time.sleep(1)
                postgres.start()
                is_whole = False
            else:
                self._kill(self._stores.servers[kills % len(self._stores.servers)])
                kills += 1
        return kills

    def _kill(self, replica: Registry) -> None:
        kill_all(replica.process.pid)
        replica.process.wait()
        replica.http.close()
        replica.start()

    def check(self) -> tuple[int, Counter[str]]:
        """Assert that nothing acknowledged is lost, once everything has come to its end.

        Returns how many skills and versions were compared, and how the publish jobs have ended.
        """
        stores = self._stores
        stores.servers[0].wait_for(stores.is_settled, SETTLE_SECONDS)
        jobs = set().union(*(one.jobs for one in self._publishers))
        ends = stores.check_published(jobs, bears_faults=self.callers.bears_faults)
        versions = stores.read("select skill_id, version, state from published")
        compared = sum(one.check() for one in self._writers) + sum(one.check(versions) for one in self._publishers)
        self.callers.close()
        return compared, ends
