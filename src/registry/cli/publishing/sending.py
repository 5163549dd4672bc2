"""Sends packages to a registry, and says what became of each. What is published already is not sent again."""

import hashlib
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from io import BufferedReader
from typing import Any, BinaryIO, cast
from urllib.parse import quote, unquote

from registry.cli import console
from registry.cli.backend import CommandFailed, Data, Progress
from registry.cli.publishing.packages import first_of
from registry.cli.remote import answers, publishing_answers
from registry.cli.remote.client import AnswerLost, ConnectionFailed, RegistryClient
from registry.cli.risk import warn_of_risk
from registry.domain.api import API
from registry.packages.refusal import PackageRefused

ACCEPTED, HELD, UNCHANGED = "accepted", "held", "unchanged"

_PAUSES = (0.5, 2.0, 5.0)
"""Seconds before the further attempts, so that a restart of the registry, or of a proxy before it, fails no publish."""

_POLL_SECONDS = 0.3
_JOB_SECONDS = 600.0
_LONGEST_WAIT = 120.0
"""The seconds that a registry may have the command wait before it takes the next package."""

_MOST_WAITS = 20


class _ProgressFile:
    """A file that reports how much of it was read."""

    def __init__(self, file: BinaryIO, progress: Progress) -> None:
        self._file = file
        self._progress = progress
        self._size = file.seek(0, 2)
        file.seek(0)

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self._progress(self._file.tell(), self._size)
        return data

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()


class Sender:
    """Publishes packages one after the other. With `dry_run`, the registry only checks them.

    The scope of a package that names none is that of the credential, which the first answer tells.
    """

    def __init__(self, client: RegistryClient, *, dry_run: bool = False, shows_progress: bool = True) -> None:
        self._client = client
        self._dry_run = dry_run
        self._shows_progress = shows_progress
        self._scope: str | None = None
        self._reads = True

    def send(self, package: BinaryIO) -> Data:
        """Return what the registry made of a package: its `skill_id`, `version`, `status`, `errors` and `warnings`.

        The status is `accepted`, `held`, `rejected`, or `unchanged` if the same files are published already. Raises
        CommandFailed.
        """
        if (published := self._published(package)) is not None:
            return published
        try:
            result = self._sent(package)
        except CommandFailed as error:
            place = _version_at(error.location) if error.code == "CONFLICT" else None
            if place is None:
                raise
            if error.etag == f'"sha256:{_digest(package)}"':
                return self._unchanged(*place)
            self._scope = place[0].partition("/")[0]
            if (published := self._published(package)) is None:
                raise
            return published
        self._scope = result["skill_id"].partition("/")[0]
        return result

    def _published(self, package: BinaryIO) -> Data | None:
        """Return the result for a package whose version is published with the same files, None for a new version.

        Raises CommandFailed if that version has other files, or is withdrawn.
        """
        if self._scope is None or not self._reads:
            return None
        from registry.packages.package import peek  # noqa: PLC0415 - it loads YAML, for which a first package need not wait

        try:
            named = peek(package)
        except PackageRefused:  # the registry says why
            return None
        skill_id = f"{named.scope or self._scope}/{named.name}"
        path = f"{API}/skills/{quote(skill_id)}/versions/{quote(named.version, safe='')}"
        try:
            version = self._client.call(publishing_answers.PublishedVersion, "GET", path)
            if version.get("withdrawn"):
                raise CommandFailed(f"{skill_id} {named.version} is withdrawn: publish the skill with a higher version")
            files = self._client.call(list[publishing_answers.PackageFile], "GET", f"{path}/files")
        except CommandFailed as error:
            if error.code == "FORBIDDEN":  # the token may be for publishing only
                self._reads = False
            elif error.code != "SKILL_NOT_FOUND":
                raise
            return None
        if changed := _changed(package, files):
            raise CommandFailed(
                f"{skill_id} {named.version} is published already, with other files ({first_of(changed)}): raise the "
                f"version, such as to {_next(named.version)}, below 'metadata' in SKILL.md or in skill-project.toml"
            )
        return self._unchanged(skill_id, named.version)

    def _unchanged(self, skill_id: str, version: str) -> Data:
        result = {"skill_id": skill_id, "version": version, "status": UNCHANGED, "errors": [], "warnings": []}
        return {**result, **self._addresses(skill_id)}

    def _sent(self, package: BinaryIO) -> Data:
        with console.progress_bar("Uploading", hidden=not self._shows_progress) as progress:
            file = cast(BinaryIO, _ProgressFile(package, progress))  # httpx calls the methods that it has
            if self._dry_run:
                check = self._upload(publishing_answers.PackageCheck, "/registry/publish/check", file)
                return {**check, "status": ACCEPTED if check["accepted"] else "rejected"}
            job = self._wait(self._upload(answers.Job, "/registry/publish", file)["job_id"])
        if job["status"] != ACCEPTED:
            return job
        with suppress(CommandFailed):
            skill = self._client.call(answers.Skill, "GET", f"{API}/skills/{quote(job['skill_id'])}")
            if skill["version"] == job["version"]:
                warn_of_risk(skill)
            else:
                console.note(
                    f"{job['skill_id']} {skill['version']} is higher: it stays what installations get by default"
                )
        return {**job, **self._addresses(job["skill_id"])}

    def _addresses(self, skill_id: str) -> Data:
        """Return the page of a skill, and the command that installs it."""
        base = self._client.base
        return {
            "page": f"{base}/skills/{quote(skill_id)}",
            "install": f"skill-registry install {skill_id} --from {base}",
        }

    def _upload(self, kind: Any, path: str, package: BinaryIO) -> Data:
        """Send a package, again if the answer is lost, and return the answer. Raises CommandFailed."""
        headers = {"Idempotency-Key": uuid.uuid4().hex}  # the server knows an upload again whose answer was lost
        lost: list[AnswerLost] = []

        def upload() -> Any:
            try:
                return self._client.upload(kind, f"{API}{path}", package, headers)
            except AnswerLost as error:
                lost.append(error)
                raise

        try:
            return _persistent(partial(_when_admitted, upload))
        except ConnectionFailed as error:
            may_be_published = lost and not self._dry_run
            told = ". It may be published all the same: run the command again, to be sure" if may_be_published else ""
            raise ConnectionFailed(f"{error}{told}") from None

    def _wait(self, job_id: str) -> Data:
        """Return a job when it has ended or waits for a review, or after the time limit. Raises CommandFailed."""
        deadline = time.monotonic() + _JOB_SECONDS
        while True:
            path = f"{API}/registry/publish/{quote(job_id, safe='')}/status"
            ask = partial(self._client.call, publishing_answers.Publishing, "GET", path)
            job = _persistent(ask, has_answered=True)
            if job["completed_at"] or job["status"] == HELD or time.monotonic() > deadline:
                return job
            time.sleep(_POLL_SECONDS)


def _persistent(call: Callable[[], Any], *, has_answered: bool = False) -> Data:
    """Return what a request returns, which is sent again if its answer is lost, or the server is busy or restarts.

    It restarts if it refuses connections and `has_answered` before. Raises CommandFailed.
    """
    for seconds in _PAUSES:
        try:
            return cast(Data, call())
        except CommandFailed as error:
            is_there = isinstance(error, AnswerLost) or error.code == "SERVICE_UNAVAILABLE"
            if not (is_there or (has_answered and isinstance(error, ConnectionFailed))):
                raise
            has_answered = True
            console.note(f"{error}; trying again in {seconds:g} s")
        time.sleep(seconds)
    return cast(Data, call())


def _when_admitted(upload: Callable[[], Any]) -> Data:
    """Return the answer to an upload, after the time for which a registry takes no more. Raises CommandFailed."""
    for _ in range(_MOST_WAITS):
        try:
            return cast(Data, upload())
        except CommandFailed as error:
            if error.code != "RATE_LIMITED" or error.retry_after is None or error.retry_after > _LONGEST_WAIT:
                raise
            console.note(f"the registry takes no more packages for {error.retry_after:.0f} s: waiting")
            time.sleep(error.retry_after)
    return cast(Data, upload())


def _version_at(location: str | None) -> tuple[str, str] | None:
    """Return the skill and the version at the path that an answer names, None if it is another path."""
    _, mark, rest = (location or "").partition(f"{API}/skills/")
    skill_id, versions, version = rest.partition("/versions/")
    return (unquote(skill_id), unquote(version)) if mark and versions else None


def _next(version: str) -> str:
    """Return the version after another one."""
    major, minor, patch = version.split(".")
    return f"{major}.{minor}.{int(patch) + 1}"


def _digest(package: BinaryIO) -> str:
    package.seek(0)
    return hashlib.file_digest(cast(BufferedReader, package), "sha256").hexdigest()


def _changed(package: BinaryIO, files: list[Data]) -> list[str]:
    """Return the paths that differ between a package and the published files."""
    from registry.packages.package import read_files  # noqa: PLC0415 - as above

    published = {file["path"]: file["sha256"] for file in files}
    own = {entry.name: hashlib.sha256(data).hexdigest() for entry, data in read_files(package)}
    return sorted(path for path in own.keys() | published.keys() if own.get(path) != published.get(path))
