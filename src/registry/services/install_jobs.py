"""Installs skills within a time limit, or as jobs that any process can show and cancel."""

import logging
import threading
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Literal

import msgspec

from registry.catalog.store import Clock
from registry.db import Database, DatabaseError
from registry.domain.models import Skill
from registry.errors import FieldError, RegistryError, conflict, not_found, service_unavailable
from registry.install.installer import Installer, Step
from registry.install.order import InstallOrder
from registry.outbound import Interruption, interruptible
from registry.runtime.stored_jobs import StoredJobs

_log = logging.getLogger("registry.services")

_MOST_JOBS = 16
"""How many jobs run at a time in a process. More are refused."""

_POLL_SECONDS = 0.3
"""How soon a job notices that another process has cancelled it."""

_RETRY_SECONDS = 5

Status = Literal["running", "cancelling", "done", "failed", "cancelled"]


class JobError(msgspec.Struct, kw_only=True):
    """Why an installation failed, as the synchronous request would have answered."""

    code: str
    message: str
    details: tuple[FieldError, ...] = ()


class InstallJob(msgspec.Struct, kw_only=True):
    """An installation in the background: the step it is at, and at the end the skill or the error."""

    job_id: str
    status: Status = "running"
    step: Step | None = None
    skill_id: str | None = None
    version: str | None = None
    error: JobError | None = None


class _Cancelled(Exception):
    """The installation was cancelled between two steps."""


class InstallJobs:
    """Runs installations.

    Args:
        database: Stores the jobs.
        installer: Installs packages.
        clock: Returns the current time.
        seconds: The time limit of an installation that a request waits for.
        installed: Is told of every skill that was installed.
    """

    def __init__(
        self,
        database: Database,
        installer: Installer,
        clock: Clock,
        *,
        seconds: float,
        installed: Callable[[str], None],
    ) -> None:
        self._installed = installed
        self._database = database
        self._jobs = StoredJobs(database, "install", clock)
        self._installer = installer
        self._seconds = seconds
        self._slots = threading.BoundedSemaphore(_MOST_JOBS)
        self._running: dict[str, Interruption] = {}
        self._threads: set[threading.Thread] = set()

    def install(self, order: InstallOrder) -> Skill:
        """Install a skill now. Raises what `Installer.install` raises, and SERVICE_UNAVAILABLE after the time limit."""
        interruption = Interruption()
        limit = threading.Timer(self._seconds, interruption.set)
        limit.daemon = True
        limit.start()
        try:
            return self._install(order, interruption, lambda step: None)
        except (RegistryError, _Cancelled):
            if interruption.is_set:
                raise service_unavailable(
                    f"The installation took longer than {self._seconds:g} s and was stopped: use ?async=true",
                    _RETRY_SECONDS,
                ) from None
            raise
        finally:
            limit.cancel()

    def _install(self, order: InstallOrder, interruption: Interruption, report: Callable[[Step], None]) -> Skill:
        def progress(step: Step) -> None:
            if interruption.is_set:
                raise _Cancelled
            report(step)

        with interruptible(interruption):
            skill = self._installer.install(order, progress)
        self._installed(skill.id)
        return skill

    def start(self, order: InstallOrder) -> InstallJob:
        """Install a skill in the background. Raises SERVICE_UNAVAILABLE if too many installations run."""
        if not self._slots.acquire(blocking=False):
            raise service_unavailable(f"{_MOST_JOBS} installations are running: try again later", _RETRY_SECONDS)
        job = InstallJob(job_id=uuid.uuid4().hex)
        with ExitStack() as held:
            held.callback(self._slots.release)
            held.enter_context(self._claim(job.job_id))  # no other process knows the new id
            self._save(job)
            self._running[job.job_id] = Interruption()
            stack = held.pop_all()
            thread = threading.Thread(target=self._run, args=(job, order, stack), name="install", daemon=True)
            self._threads.add(thread)
            try:
                thread.start()
            except RuntimeError:
                error = service_unavailable("The service can start no thread now: try again later", _RETRY_SECONDS)
                with stack:
                    self._fail(job, error, is_cancelled=False)
                    self._end(job, thread)
                raise error from None
        return job

    def get(self, job_id: str) -> InstallJob:
        """Return a job. One whose process has ended has failed. Raises NOT_FOUND."""
        job = self._read(job_id)
        if job.status in ("running", "cancelling"):
            with self._claim(job_id) as is_free:
                if is_free and (job := self._read(job_id)).status in ("running", "cancelling"):
                    error = JobError(code="SERVICE_UNAVAILABLE", message="The service stopped meanwhile: try again")
                    job = msgspec.structs.replace(job, status="failed", error=error)
                    self._save(job)
        return job

    def cancel(self, job_id: str) -> InstallJob:
        """Cancel a job; it ends soon after. Raises NOT_FOUND, CONFLICT if it has ended."""
        job = self.get(job_id)
        if not self._jobs.change(job_id, "running", "cancelling") and self._read(job_id).status != "cancelling":
            raise conflict(f"Job '{job_id}' has ended: it is {self._read(job_id).status}")
        if job_id in self._running:
            self._running[job_id].set()
        return msgspec.structs.replace(job, status="cancelling")

    def stop(self) -> None:
        """Interrupt the installations of this process, and wait for them."""
        for interruption in list(self._running.values()):
            interruption.set()
        for thread in list(self._threads):
            thread.join()

    def _run(self, job: InstallJob, order: InstallOrder, held: ExitStack) -> None:
        ended = threading.Event()
        interruption = self._running[job.job_id]
        with held:
            try:
                threading.Thread(target=self._watch, args=(job.job_id, interruption, ended), daemon=True).start()
                skill = self._install(order, interruption, lambda step: self._report(job, step))
                job.status, job.skill_id, job.version = "done", skill.id, skill.version
            except Exception as error:
                self._fail(job, error, is_cancelled=interruption.is_set)
            finally:
                ended.set()
                self._end(job, threading.current_thread())

    def _end(self, job: InstallJob, thread: threading.Thread) -> None:
        self._save(job)
        del self._running[job.job_id]
        self._threads.discard(thread)

    def _report(self, job: InstallJob, step: Step) -> None:
        job.step = step
        self._jobs.put_data(job.job_id, msgspec.json.encode(job))  # the state may be "cancelling" meanwhile

    @staticmethod
    def _fail(job: InstallJob, error: Exception, *, is_cancelled: bool) -> None:
        if is_cancelled:
            job.status = "cancelled"
            return
        job.status = "failed"
        if isinstance(error, RegistryError):
            job.error = JobError(code=error.code, message=error.message, details=error.details)
        else:
            _log.error("installation %s failed", job.job_id, exc_info=error)
            job.error = JobError(code="INTERNAL_ERROR", message="an unexpected error; see the log of the server")

    def _watch(self, job_id: str, interruption: Interruption, ended: threading.Event) -> None:
        """Interrupt a job that another process has cancelled."""
        while not ended.wait(_POLL_SECONDS):
            try:
                stored = self._jobs.find(job_id)
            except DatabaseError:
                continue  # the job itself reports it
            if stored is not None and stored[0] == "cancelling":
                interruption.set()

    def _read(self, job_id: str) -> InstallJob:
        stored = self._jobs.find(job_id)
        if stored is None:
            raise not_found(f"Job '{job_id[:64]}'")
        state, data = stored
        return msgspec.structs.replace(msgspec.json.decode(data, type=InstallJob), status=state)

    def _save(self, job: InstallJob) -> None:
        self._jobs.put(job.job_id, job.status, msgspec.json.encode(job))

    def _claim(self, job_id: str) -> AbstractContextManager[bool]:
        return self._database.claim(f"install {job_id}")
