"""Reindexing on request: synchronously, or as a job that reports its progress and survives a restart."""

import contextlib
import logging
import threading
import time
import uuid
from collections.abc import Sequence
from typing import Literal

import msgspec

from registry.catalog.store import Catalog, Clock
from registry.errors import not_found, service_unavailable, skill_not_found
from registry.runtime.stored_jobs import StoredJobs
from search.engine import Engine, Progress
from search.reports import Reindexed

_log = logging.getLogger("registry.indexing")

_SAVE_SECONDS = 0.5


class ReindexJob(msgspec.Struct, kw_only=True):
    """A reindexing job. `rate` is in documents per second, and `eta_seconds` the remaining time at that rate."""

    job_id: str
    status: Literal["running", "done", "failed"] = "running"
    done: int = 0
    total: int = 0
    rate: float = 0.0
    eta_seconds: float | None = None
    result: Reindexed | None = None
    error: str | None = None


class _Task(msgspec.Struct):
    keys: list[int] | None
    force: bool
    job: ReindexJob


class Reindexing:
    """Reindexes all or some skills, and stores the jobs."""

    def __init__(self, catalog: Catalog, engine: Engine, clock: Clock) -> None:
        self._catalog = catalog
        self._database = catalog.database
        self._engine = engine
        self._jobs = StoredJobs(catalog.database, "reindex", clock)

    def run(self, skill_ids: Sequence[str] | None, *, force: bool, progress: Progress | None = None) -> Reindexed:
        """Reindex now. Raises SKILL_NOT_FOUND."""
        return self._engine.reindex(self._keys(skill_ids), force=force, progress=progress)

    def start(self, skill_ids: Sequence[str] | None, *, force: bool) -> ReindexJob:
        """Reindex in the background. Raises SKILL_NOT_FOUND."""
        task = _Task(self._keys(skill_ids), force, ReindexJob(job_id=uuid.uuid4().hex))
        with contextlib.ExitStack() as claim:
            claim.enter_context(self._claim(task.job.job_id))  # no other process knows the new id
            self._save(task)
            self._launch(task, claim.pop_all())
        return task.job

    def get(self, job_id: str) -> ReindexJob:
        """Return a job with its progress. Raises NOT_FOUND."""
        return self._task(job_id).job

    def _task(self, job_id: str) -> _Task:
        stored = self._jobs.find(job_id)
        if stored is None:
            raise not_found(f"Job '{job_id[:64]}'")
        return msgspec.json.decode(stored[1], type=_Task)

    def resume(self) -> None:
        """Resume the jobs that a stop or crash of any process has interrupted. Finished embeddings are kept."""
        for job_id in self._jobs.in_state("running"):
            with contextlib.ExitStack() as claim:
                is_claimed = claim.enter_context(self._claim(job_id))
                if is_claimed and (task := self._task(job_id)).job.status == "running":
                    task.force = False  # the first run has already marked the vectors as stale
                    self._launch(task, claim.pop_all())

    def _claim(self, job_id: str) -> contextlib.AbstractContextManager[bool]:
        return self._database.claim(f"reindex {job_id}")

    def _keys(self, skill_ids: Sequence[str] | None) -> list[int] | None:
        if skill_ids is None:
            return None
        keys = self._catalog.keys(skill_ids)
        for skill_id in skill_ids:
            if skill_id not in keys:
                raise skill_not_found(skill_id)
        return sorted(set(keys.values()))

    def _launch(self, task: _Task, claim: contextlib.ExitStack) -> None:
        try:
            threading.Thread(target=self._run_claimed, args=(task, claim), name="reindex", daemon=True).start()
        except RuntimeError:
            with claim:
                task.job.status, task.job.error = "failed", "no thread could be started: try again later"
                self._save(task)
            raise service_unavailable(f"The reindex failed: {task.job.error}") from None

    def _run_claimed(self, task: _Task, claim: contextlib.ExitStack) -> None:
        with claim:
            self._reindex(task)

    def _reindex(self, task: _Task) -> None:
        job, started, saved = task.job, time.monotonic(), 0.0

        def progress(count: int, total: int) -> None:
            nonlocal saved
            now = time.monotonic()
            job.done, job.total = count, total
            job.rate = round(count / max(now - started, 1e-3), 1)
            job.eta_seconds = round((total - count) / job.rate, 1) if job.rate else None
            if now - saved >= _SAVE_SECONDS:
                saved = now
                self._save(task)

        try:
            job.result = self._engine.reindex(task.keys, force=task.force, progress=progress)
            job.status = "failed" if job.result.failed else "done"
            job.error = "; ".join(job.result.errors) or None
        except Exception:  # the job must end with a status that its caller can read
            _log.exception("reindex job %s failed", job.job_id)
            job.status, job.error = "failed", "an unexpected error; see the server's log"
        job.eta_seconds = None
        self._save(task)

    def _save(self, task: _Task) -> None:
        self._jobs.put(task.job.job_id, task.job.status, msgspec.json.encode(task))
