"""`skill-registry publish`, `yank` and `unyank`: packages to a registry, and out of its sight."""

import re
import tempfile
import time
import uuid
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any, BinaryIO, cast
from urllib.parse import quote

import click
import httpx
import msgspec
from rich.markup import escape
from rich.table import Table

from registry.cli import command, console
from registry.cli.backend import CommandFailed, Data, Progress
from registry.cli.client import RemoteBackend
from registry.cli.credentials import credential, login_hint
from registry.packages import PackageRefused, pack

_UPLOAD_SECONDS = 120.0
_UPLOADS = 3
_POLL_SECONDS = 0.3
_PATIENCE_SECONDS = 600.0
_VERSION = re.compile(r"([^/@]+/[^/@]+)@([^/@]+)")

_server_option = click.option("--server", metavar="URL", required=True, help="The registry.")


class _Publisher(RemoteBackend):
    """A registry that packages are published to."""

    def upload(self, package: BinaryIO, progress: Progress) -> Data:
        """Send a package, again where the connection breaks, and return the job. Raises CommandFailed."""
        key = uuid.uuid4().hex  # by which an upload whose answer was lost is known again
        for left in reversed(range(_UPLOADS)):
            try:
                return self._upload(package, key, progress)
            except httpx.TransportError as error:
                if not left:
                    raise CommandFailed(f"{self._base} cannot be reached: {error}") from None
        raise AssertionError

    def _upload(self, package: BinaryIO, key: str, progress: Progress) -> Data:
        package.seek(0)
        told = cast(BinaryIO, _Told(package, progress))  # what is read of a file: no more is needed
        files = {"package": ("package.zip", told, "application/zip")}
        answer = httpx.post(
            f"{self._base}/api/v1/registry/publish",
            files=files,
            headers={**self._credential, "Idempotency-Key": key},
            timeout=_UPLOAD_SECONDS,
        )
        try:
            body = msgspec.json.decode(answer.content)
            if answer.is_success:
                job: Data = body["data"]
                return job
            faults = [f"{one['field']}: {one['message']}" for one in body["error"].get("details", [])]
            hint = login_hint(self._base) if answer.status_code == HTTPStatus.UNAUTHORIZED else ""
            raise CommandFailed(("; ".join(faults) or body["error"]["message"]) + hint)
        except (msgspec.DecodeError, KeyError, TypeError):
            raise CommandFailed(f"{self._base} answered {answer.status_code}: is it a registry?") from None

    def finished(self, job_id: str) -> Data:
        """Return a job once it has ended. Raises CommandFailed."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            job: Data = self._call("GET", f"/registry/publish/{quote(job_id, safe='')}/status")
            if job["completed_at"] or time.monotonic() > deadline:
                return job
            time.sleep(_POLL_SECONDS)

    def set_state(self, skill_id: str, version: str, what: str) -> Data:
        """Yank or unyank a version. Raises CommandFailed."""
        path = f"/registry/skills/{quote(skill_id)}/{quote(version, safe='')}/{what}"
        answer: Data = self._call("POST", path)
        return answer


class _Told:
    """A file that says how much of it was read."""

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


@click.command()
@click.argument("path", type=click.Path(path_type=Path, exists=True))
@command.json_option
@_server_option
@command.settings_options("data_dir")
def publish(path: Path, as_json: bool, server: str, **flags: Any) -> None:
    """Publish PATH, a skill's folder or a zip of it, and wait for the outcome. Exit code 1: it is rejected.

    The credential is SKILL_REGISTRY_CLIENT_API_KEY, an API key with a scope or a token, else that of 'login'.
    """
    with tempfile.TemporaryFile() as packed:
        package = _opened(path, packed)
        with package, console.progress_bar("Uploading", hidden=as_json) as progress:
            job = _with(flags, server, lambda registry: _published(registry, package, progress))
    console.show(job, _tables, as_json=as_json)
    if job["status"] != "accepted":
        command.stop(f"{job['skill_id']} {job['version']} is {job['status']}")


def _published(registry: _Publisher, package: BinaryIO, progress: Progress) -> Data:
    return registry.finished(registry.upload(package, progress)["job_id"])


def _opened(path: Path, packed: Any) -> BinaryIO:
    """Return a zip as it is, or a folder packed: the same files always make the same bytes."""
    try:
        if path.is_file():
            return path.open("rb")
        pack(path, packed)
    except PackageRefused as refused:
        reasons = (f"{one.file or path.name}: {one.message}" for one in refused.findings)
        command.stop("this cannot be published: " + "; ".join(reasons))
    except OSError as error:
        command.stop(f"{path} cannot be read: {error.strerror}")
    packed.seek(0)
    file: BinaryIO = packed
    return file


def _with(flags: dict[str, Any], server: str, call: Any) -> Data:
    settings = command.load(flags)
    try:
        answer: Data = call(_Publisher(server, credential(settings, server)))
    except CommandFailed as error:
        command.stop(str(error))
    return answer


def _tables(job: console.Data) -> Iterator[Table | str]:
    yield f"[bold]{escape(job['skill_id'])} {escape(job['version'])}[/]: {job['status']}  {job['checksum']}"
    for kind, color in (("errors", "red"), ("warnings", "yellow")):
        for one in job[kind]:
            where = f"{one['field']}: " if one["field"] else ""
            yield f"[{color}]{one['kind']}[/] {escape(console.printable(where + one['message']))}"


def _change(what: str, target: str, flags: dict[str, Any], server: str, *, as_json: bool) -> None:
    named = _VERSION.fullmatch(target)
    if named is None:
        command.stop(f"{target}: name a version as scope/name@1.0.0", command.WRONG_USE)
    done = _with(flags, server, lambda registry: registry.set_state(named[1], named[2], what))
    console.show(done, console.facts_table, as_json=as_json)


@click.command()
@click.argument("version", metavar="SCOPE/NAME@VERSION")
@command.json_option
@_server_option
@command.settings_options("data_dir")
def yank(version: str, as_json: bool, server: str, **flags: Any) -> None:
    """Take a published version out of lists and search; who names it exactly still gets it."""
    _change("yank", version, flags, server, as_json=as_json)


@click.command()
@click.argument("version", metavar="SCOPE/NAME@VERSION")
@command.json_option
@_server_option
@command.settings_options("data_dir")
def unyank(version: str, as_json: bool, server: str, **flags: Any) -> None:
    """List a yanked version again."""
    _change("unyank", version, flags, server, as_json=as_json)
