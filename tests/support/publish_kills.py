"""Servers that are killed while they publish, and callers who come again until they are answered."""

import contextlib
import itertools
import random
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import httpx

from support.killing import Steps, kill_all
from support.publishing import Registry, skill_package
from support.registry_stores import RegistryStores
from support.waiting import PATIENCE_SECONDS

SETTLE_SECONDS = 240
"""How long what was cut short may take to come to its end, on a machine that does much else."""

_FORBIDDEN = {"scripts/run": b"\x7fELF" + bytes(60)}
"""What a package is rejected for, but not at first sight."""


class Upload:
    """One package on its way; every fifth is one that will be rejected. `job` is the id of its job, once answered."""

    def __init__(self, number: int, caller: Mapping[str, str]) -> None:
        files = _FORBIDDEN if number % 5 == 4 else {}
        self._package = skill_package(f"skill-{number // 2}", f"1.{number}.0", body="# Body\n" * 300, files=files)
        self._headers = {**caller, "Idempotency-Key": f"upload-{number}"}
        self.job: str | None = None

    def send(self, server: Registry) -> None:
        """Send it once. Raises httpx.TransportError where no answer comes."""
        answer = httpx.post(
            f"{server.url}/api/registry/publish",
            files={"package": ("package.zip", self._package)},
            headers=self._headers,
            timeout=PATIENCE_SECONDS,
        )
        assert answer.status_code == 202, answer.text
        job = answer.json()["data"]["job_id"]
        assert self.job in (None, job), "the same upload became a second job"
        self.job = job

    def try_to_send(self, server: Registry) -> None:
        """Send it to a server that may go away meanwhile."""
        with contextlib.suppress(httpx.TransportError):
            self.send(server)


class PublishKills:
    """Kills the one server of some stores. `steps` is how many steps a publish has, `jobs` those that were promised."""

    def __init__(self, stores: RegistryStores) -> None:
        self._stores = stores
        self._server = stores.server()
        self._caller = stores.caller()
        self._number = 0
        self.jobs: set[str] = set()
        self._publish(None)  # the first one also begins what later ones go on with
        self.steps = len(self._publish(None)[1])

    def kill(self, step: int) -> str | None:
        """Kill the server after a step of a publish and start it; return what it did last.

        Every other time the same is sent again, and mostly all is settled before the next. Returns None where the
        publish was over before that step.
        """
        upload, taken = self._publish(step)
        self._server.process.wait()
        self._server.http.close()
        self._server.start()
        if self._number % 2:
            upload.send(self._server)
            self._promised(upload)
        if self._number % 3:
            self.settle()
        return taken[step - 1] if len(taken) >= step else None

    def settle(self) -> None:
        """Wait until every job has ended and the index has them."""
        self._server.wait_for(self._stores.is_settled, SETTLE_SECONDS)

    def _publish(self, kill_at: int | None) -> tuple[Upload, list[str]]:
        """Publish one package, killed after that step, at the latest when all is done; return the steps taken."""
        self._number += 1
        upload = Upload(self._number, self._caller)
        with Steps(self._server.process, kill_at) as steps:
            sending = threading.Thread(target=upload.try_to_send, args=(self._server,))
            sending.start()
            sending.join()
            while not steps.killed.wait(0.05):
                if upload.job and self._stores.is_settled():
                    break
            if kill_at is not None:
                kill_all(self._server.process.pid)
        self._promised(upload)
        return upload, steps.taken

    def _promised(self, upload: Upload) -> None:
        if upload.job:
            self.jobs.add(upload.job)


def share(stores: RegistryStores, count: int, seconds: float, callers: int = 4) -> tuple[set[str], int]:
    """Publish `count` packages through two servers, one of which is killed every so many seconds.

    Callers go to either, and to the other one with the same key where they get no answer. Killing goes on until every
    job has ended. Returns the jobs that were promised, and how often the server was killed.
    """
    one, two = stores.server(), stores.server()
    caller, drawn = stores.caller(), random.Random(count)
    uploads = [Upload(number, caller) for number in range(count)]

    def publish(number: int) -> None:
        for server in itertools.islice(itertools.cycle((one, two)), number % 2, None):
            uploads[number].try_to_send(server)
            if uploads[number].job:
                return
            time.sleep(0.05)

    kills, deadline = 0, time.monotonic() + SETTLE_SECONDS + count
    with ThreadPoolExecutor(callers) as pool:
        sending = [pool.submit(publish, number) for number in range(count)]
        while not (kills and all(sent.done() for sent in sending) and stores.is_settled()):
            assert time.monotonic() < deadline, "the jobs do not end"
            time.sleep(seconds * drawn.uniform(0.5, 1.5))
            kill_all(one.process.pid)
            one.process.wait()
            one.http.close()
            one.start()
            kills += 1
        for sent in sending:
            sent.result()
    return {str(upload.job) for upload in uploads}, kills
