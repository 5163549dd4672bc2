"""Faults of a machine, one after the other, under a load: what was promised must be there afterwards, once.

The faults and when they come are drawn from a seed, so that a run can be repeated.
"""

import contextlib
import os
import random
import resource
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from support.killing import freeze, kill_all, thaw
from support.lying_bucket import LIES, LyingBucket
from support.mixed_load import MixedLoad
from support.postgres_server import PostgresServer
from support.publish_kills import SETTLE_SECONDS
from support.registry_stores import RegistryStores
from support.torn_pages import tear
from support.waiting import PATIENCE_SECONDS

_LONGEST_PAUSE = 0.8
_LONGEST_FAULT = 1.5
_DISK = "192m"


class Crasher:
    """A registry with one server, callers, and faults.

    `postgres` is the server of its database, if it has one; `disk` is the small file system that it writes to, if there
    is one; `bucket` keeps its packages, if they are in one. `seen` counts the faults, `torn` the pages among them whose
    rows changed.
    """

    def __init__(
        self,
        stores: RegistryStores,
        seed: int,
        postgres: PostgresServer | None = None,
        disk: Path | None = None,
        bucket: LyingBucket | None = None,
    ) -> None:
        self._stores = stores
        self._drawn = random.Random(seed)
        self._postgres = postgres
        self._disk = disk
        self._bucket = bucket
        self._load = MixedLoad(stores, 1, writers=2, publishers=1, readers=1, seed=seed, bears_faults=True)
        (self._server,) = stores.servers
        self._checkpoints: set[tuple[int, str]] = set()
        self.seen: Counter[str] = Counter()
        self.torn = 0
        self._faults = {"kill": self._kill, "hang": self._hang, "hang and kill": self._hang_and_kill}
        self._faults["memory"] = self._take_memory
        if postgres is None:
            self._faults["page"] = self._tear_page
        if disk is not None:
            self._faults["disk"] = self._fill_disk
        if postgres is not None:
            self._faults["database"] = self._crash_database
            self._faults["cut"] = self._cut_connections
            self._faults["read-only"] = self._refuse_writes
        if bucket is not None:
            self._faults["lie"] = self._let_the_bucket_lie

    def run(self, faults: int | None = None, seconds: float | None = None) -> None:
        """Inject so many faults, or faults for so long. Raises AssertionError where something promised is missing."""
        deadline = time.monotonic() + (seconds or float("inf"))
        with self._load.calling():
            while (faults is None or self.seen.total() < faults) and time.monotonic() < deadline:
                self._inject(self._drawn.choice(list(self._faults)))

    def _inject(self, name: str) -> None:
        time.sleep(self._drawn.uniform(0, _LONGEST_PAUSE))
        self.seen[name] += 1
        self._faults[name]()
        self._recover()
        # A job whose process dies twice is set aside, with its package. So each, however late it came before the fault,
        # may meet one fault only.
        live = {row[0] for row in self._live()}
        self._server.wait_for(lambda: not live & {row[0] for row in self._live()}, SETTLE_SECONDS)

    def _live(self) -> list[tuple[str]]:
        return self._stores.read("select id from publish_jobs where state in ('pending', 'validating')")

    def _kill(self) -> None:
        kill_all(self._server.process.pid)

    def _hang(self) -> None:
        family = freeze(self._server.process.pid)
        time.sleep(self._drawn.uniform(0, _LONGEST_FAULT))
        thaw(family)

    def _hang_and_kill(self) -> None:
        freeze(self._server.process.pid)
        time.sleep(self._drawn.uniform(0, _LONGEST_FAULT))
        kill_all(self._server.process.pid)

    def _take_memory(self) -> None:
        """Give the process hardly any more memory for a while."""
        pid = self._server.process.pid
        with contextlib.suppress(ProcessLookupError, FileNotFoundError):
            size = int(Path(f"/proc/{pid}/statm").read_text().split()[0]) * resource.getpagesize()
            before = resource.prlimit(pid, resource.RLIMIT_AS)
            resource.prlimit(pid, resource.RLIMIT_AS, (size + self._drawn.randrange(4 << 20), before[1]))
            time.sleep(self._drawn.uniform(0, _LONGEST_FAULT))
            resource.prlimit(pid, resource.RLIMIT_AS, before)
        if self._drawn.random() < 0.5:  # as a supervisor does with a process that has run out of memory
            kill_all(pid)

    def _fill_disk(self) -> None:
        """Take the space on the disk, all of it or nearly, for a while."""
        assert self._disk is not None
        filler = self._disk / "filler"
        with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(1 << 16))
        with contextlib.suppress(OSError):
            os.truncate(filler, max(0, filler.stat().st_size - self._drawn.choice((0, 1 << 14, 1 << 17))))
        time.sleep(self._drawn.uniform(0, _LONGEST_FAULT))
        if self._drawn.random() < 0.3:
            kill_all(self._server.process.pid)
        filler.unlink()

    def _tear_page(self) -> None:
        """Overwrite a page of a copy of the database, not of the database itself: nothing could repair that."""
        with TemporaryDirectory() as folder:
            self.torn += tear(self._stores, self._server, Path(folder), self._drawn)

    def _crash_database(self) -> None:
        assert self._postgres is not None
        self._postgres.crash()
        time.sleep(self._drawn.uniform(0, _LONGEST_FAULT))
        self._postgres.start()

    def _cut_connections(self) -> None:
        """End all connections to the database, again and again, whatever statement or transaction they are in."""
        assert self._postgres is not None
        for _ in range(self._drawn.randrange(1, 8)):
            self._postgres.cut_connections()
            time.sleep(self._drawn.uniform(0, _LONGEST_FAULT / 8))

    def _refuse_writes(self) -> None:
        """Let the database take no writes for a while, as one does whose disk is full or that has become a standby."""
        assert self._postgres is not None
        with self._postgres.read_only():
            time.sleep(self._drawn.uniform(0, _LONGEST_FAULT))

    def _let_the_bucket_lie(self) -> None:
        """Let the bucket lose or change what is written, and say that it was stored."""
        assert self._bucket is not None
        self._bucket.lie = self._drawn.choice(LIES)
        time.sleep(self._drawn.uniform(0, _LONGEST_FAULT))
        if self._drawn.random() < 0.3:
            kill_all(self._server.process.pid)
        self._bucket.lie = None

    def _recover(self) -> None:
        """Start the server if it has ended, or does not become ready."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self._server.process.poll() is None:
            with contextlib.suppress(httpx.HTTPError, AssertionError):
                if self._server.http.get("/readyz", timeout=5).is_success and self._note_checkpoint():
                    return
            assert time.monotonic() < deadline, f"the server stays unready {self._server.log.read_text()[-3000:]}"
            time.sleep(0.05)
        self._server.http.close()
        self._server.start()

    def _note_checkpoint(self) -> bool:
        """Note what the log signs now; return whether the server answers, with its database."""
        answer = self._server.get("/api/v1/log/checkpoint")
        if answer.is_success:
            _, size, root, *_ = answer.text.splitlines()
            self._checkpoints.add((int(size), root))
        return answer.is_success

    def check(self) -> tuple[int, Counter[str]]:
        """Assert that nothing acknowledged is lost, nothing is there twice, and that `fsck` finds no difference.

        Returns how many skills and versions were compared, and how the publish jobs have ended.
        """
        sizes = [size for size, _ in self._checkpoints]
        assert len(sizes) == len(set(sizes)), "the log has signed two states of one size"
        return self._load.check()


@contextmanager
def small_disk(folder: Path) -> Iterator[Path | None]:
    """Mount a small file system on a new folder, None where that is not possible.

    The log of a server in it is written elsewhere: that of a long run would fill it for good.
    """
    folder.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={_DISK}", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        yield None
        return
    (folder / "server.log").symlink_to(folder.with_name(f"{folder.name}.log"))
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
