"""Reindexing on request: at once, or as a job whose progress can be asked for and which outlives a restart."""

import contextlib
import logging
import threading
import time
import uuid
from collections.abc import Sequence
from typing import Literal

import msgspec

from registry.catalog.store import Clock
from registry.db import Database
from registry.domain.models import timestamp
from registry.errors import not_found, skill_not_found
from search.engine import Engine, Progress
from search.reports import Reindexed

_log = logging.getLogger("registry.indexing")

_SAVED_EVERY_SECONDS = 0.5


class ReindexJob(msgspec.Struct, kw_only=True):
    """A reindexing that runs by itself. `rate` is documents a second, `eta_seconds` what is left at that rate."""

    job_id: str
    status: Literal["running", "done", "failed"] = "running"
    done: int = 0
    total: int = 0
    rate: float = 0.0
    eta_seconds: float | None = None
    result: Reindexed | None = None
    error: str | None = None


class _Question(msgspec.Struct):
    keys: list[int] | None
    force: bool
    job: ReindexJob


class Reindexing:
    """Runs reindexing of all or some skills and keeps the jobs."""

    def __init__(self, database: Database, engine: Engine, clock: Clock) -> None:
        self._database = database
        self._engine = engine
        self._clock = clock

    def run(self, skill_ids: Sequence[str] | None, *, force: bool, progress: Progress | None = None) -> Reindexed:
        """Reindex now. Raises SKILL_NOT_FOUND."""
        return self._engine.reindex(self._keys(skill_ids), force=force, progress=progress)

    def start(self, skill_ids: Sequence[str] | None, *, force: bool) -> ReindexJob:
        """Reindex in the background. Raises SKILL_NOT_FOUND."""
        question = _Question(self._keys(skill_ids), force, ReindexJob(job_id=uuid.uuid4().hex))
        with contextlib.ExitStack() as claim:
            claim.enter_context(self._claim(question.job.job_id))  # nobody else knows of it
            self._save(question)
            self._launch(question, claim.pop_all())
        return question.job

    def get(self, job_id: str) -> ReindexJob:
        """Return how far a job is. Raises NOT_FOUND."""
        return self._question(job_id).job

    def _question(self, job_id: str) -> _Question:
        rows = self._database.read("select progress from jobs where id = ? and kind = 'reindex'", (job_id,))
        if not rows:
            raise not_found(f"Job '{job_id[:64]}'")
        return msgspec.json.decode(rows[0][0], type=_Question)

    def resume(self) -> None:
        """Take up the jobs that a stop or crash of any process has cut short: what was embedded already stays."""
        for (job_id,) in self._database.read("select id from jobs where kind = 'reindex' and state = 'running'"):
            with contextlib.ExitStack() as claim:
                mine = claim.enter_context(self._claim(job_id))
                if mine and (question := self._question(job_id)).job.status == "running":
                    question.force = False  # what was forced before the crash is already marked as stale
                    self._launch(question, claim.pop_all())

    def _claim(self, job_id: str) -> contextlib.AbstractContextManager[bool]:
        return self._database.claim(f"reindex {job_id}")

    def _keys(self, skill_ids: Sequence[str] | None) -> list[int] | None:
        if skill_ids is None:
            return None
        marks = ", ".join("?" * len(skill_ids))
        found: dict[str, int] = dict(
            self._database.read(f"select id, key from skills where id in ({marks})", skill_ids)
        )
        for skill_id in skill_ids:
            if skill_id not in found:
                raise skill_not_found(skill_id)
        return sorted(set(found.values()))

    def _launch(self, question: _Question, claim: contextlib.ExitStack) -> None:
        threading.Thread(target=self._work, args=(question, claim), name="reindex", daemon=True).start()

    def _work(self, question: _Question, claim: contextlib.ExitStack) -> None:
        with claim:
            self._reindex(question)

    def _reindex(self, question: _Question) -> None:
        job, started, saved = question.job, time.monotonic(), 0.0

        def progress(done: int, total: int) -> None:
            nonlocal saved
            now = time.monotonic()
            job.done, job.total = done, total
            job.rate = round(done / max(now - started, 1e-3), 1)
            job.eta_seconds = round((total - done) / job.rate, 1) if job.rate else None
            if now - saved >= _SAVED_EVERY_SECONDS:
                saved = now
                self._save(question)

        try:
            job.result = self._engine.reindex(question.keys, force=question.force, progress=progress)
            job.status = "failed" if job.result.failed else "done"
            job.error = "; ".join(job.result.errors) or None
        except Exception:
            _log.exception("reindex job %s failed", job.job_id)
            job.status, job.error = "failed", "an unexpected error; see the server's log"
        job.eta_seconds = None
        self._save(question)

    def _save(self, question: _Question) -> None:
        with self._database.write() as transaction:
            transaction.execute(
                "insert into jobs (id, kind, state, progress, created_at)"
                " values (?, 'reindex', ?, ?, ?) on conflict (id) do update set"
                " state = excluded.state, progress = excluded.progress",
                (
                    question.job.job_id,
                    question.job.status,
                    msgspec.json.encode(question).decode(),
                    timestamp(self._clock()),
                ),
            )
