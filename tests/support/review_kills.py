"""A server that is killed while a package begins to wait for a review, is approved, or is rejected."""

import contextlib
import threading
from typing import Literal

import httpx

from support.killing import Steps, kill_all
from support.publish_kills import SETTLE_SECONDS
from support.publishing import skill_package
from support.registry_stores import RegistryStores
from support.waiting import PATIENCE_SECONDS

Action = Literal["hold", "approve", "reject"]

_ENDS = {"approve": "accepted", "reject": "rejected"}


class ReviewKills:
    """Kills the one server of some stores, which holds every package. `jobs` are those that were promised."""

    def __init__(self, stores: RegistryStores) -> None:
        self._stores = stores
        self._server = stores.server("--publish-hold", "all")
        self._publisher = stores.caller()
        self._reviewer = self._server.caller(f"{stores.scope}/bob")
        self._number = 0
        self.jobs: set[str] = set()

    def steps(self, action: Action) -> int:
        """Return how many steps an action has."""
        job = None if action == "hold" else self._held()
        return len(self._act(action, job, None)[1])

    def kill(self, action: Action, step: int) -> bool:
        """Kill the server after a step of an action, start it, and check that what was promised is kept.

        The action is done again where it was not answered. Returns whether it was not over before that step.
        """
        job = None if action == "hold" else self._held()
        answer, taken = self._act(action, job, step)
        self._server.process.wait()
        self._server.http.close()
        self._server.start()
        if action == "hold":
            job = self._job_of(answer) if answer is not None else self._upload()
            self._wait(job, "held")
            self._check_kept(job)
        elif answer is not None:
            assert answer.status_code == 200, answer.text
            self._wait(str(job), _ENDS[action])
        else:
            self._decide_again(action, str(job))
        return len(taken) >= step

    def finish(self) -> None:
        """Decide what still waits, so that every job ends and the index has it."""
        self._server.wait_for(self._stores.is_settled, SETTLE_SECONDS)
        for (job,) in self._stores.read("select id from publish_jobs where state = 'held'"):
            self._post(f"/{job}/approve")
            self._wait(job, "accepted")
        self._server.wait_for(self._stores.is_settled, SETTLE_SECONDS)

    def _decide_again(self, action: Action, job: str) -> None:
        """Decide a job whose decision was not answered: it is recorded as a whole, or not at all."""
        state = self._state(job)
        assert state in ("held", _ENDS[action])
        answer = self._post(f"/{job}/{action}")
        assert answer.status_code in (200, 409), answer.text
        assert (answer.status_code == 200) or "does not wait" in answer.text
        self._wait(job, _ENDS[action])

    def _check_kept(self, job: str) -> None:
        path = f"{self._server.url}/api/v1/registry/reviews/{job}/files/SKILL.md"
        answer = httpx.get(path, headers=self._reviewer, timeout=PATIENCE_SECONDS)
        assert answer.status_code == 200, answer.text
        assert "# Body" in answer.text

    def _held(self) -> str:
        job = self._upload()
        self._wait(job, "held")
        return job

    def _act(self, action: Action, job: str | None, kill_at: int | None) -> tuple[httpx.Response | None, list[str]]:
        """Do an action, killed after that step, at the latest when all is done; return the answer and the steps."""
        answers: list[httpx.Response] = []

        def send() -> None:
            with contextlib.suppress(httpx.TransportError):
                answers.append(self._send() if job is None else self._post(f"/{job}/{action}"))

        with Steps(self._server.process, kill_at) as steps:
            sending = threading.Thread(target=send)
            sending.start()
            sending.join()
            while answers and not steps.killed.wait(0.05):
                one = job or self._job_of(answers[0])
                if self._stored_state(one) == _ENDS.get(action, "held") and self._stores.is_settled():
                    break
            if kill_at is not None:
                kill_all(self._server.process.pid)
        return (answers[0] if answers else None), steps.taken

    def _upload(self) -> str:
        return self._job_of(self._send())

    def _send(self) -> httpx.Response:
        self._number += 1
        package = skill_package(f"skill-{self._number}", body="# Body\n" * 300)
        files = {"package": ("package.zip", package)}
        url = f"{self._server.url}/api/registry/publish"
        return httpx.post(url, files=files, headers=self._publisher, timeout=PATIENCE_SECONDS)

    def _job_of(self, answer: httpx.Response) -> str:
        assert answer.status_code == 202, answer.text
        job = str(answer.json()["data"]["job_id"])
        self.jobs.add(job)
        return job

    def _post(self, path: str) -> httpx.Response:
        url = f"{self._server.url}/api/v1/registry/reviews{path}"
        return httpx.post(url, json={"reason": "It was read."}, headers=self._reviewer, timeout=PATIENCE_SECONDS)

    def _state(self, job: str) -> str:
        return str(self._server.job(job, self._publisher)["status"])

    def _stored_state(self, job: str) -> str:
        ((state,),) = self._stores.read(f"select state from publish_jobs where id = '{job}'")
        return str(state)

    def _wait(self, job: str, state: str) -> None:
        self._server.wait_for(lambda: self._state(job) == state, SETTLE_SECONDS)
