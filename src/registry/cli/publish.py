"""`skill-registry publish`, `yank` and `unyank`: send packages to a registry, hide them and list them again."""

import re
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast
from urllib.parse import quote

import click
from rich.markup import escape
from rich.table import Table

from registry.cli import command, console
from registry.cli.backend import CommandFailed, Data, Progress
from registry.cli.client import ConnectionFailed, RegistryClient
from registry.cli.help.settings_options import settings_options
from registry.cli.open_issuer import connect_as_publisher
from registry.packages.packing import pack
from registry.packages.refusal import PackageRefused

_UPLOAD_SECONDS = 120.0
_ATTEMPTS = 3
_POLL_SECONDS = 0.3
_JOB_SECONDS = 600.0
_VERSION = re.compile(r"([^/@]+/[^/@]+)@([^/@]+)")


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


@click.command()
@click.argument("path", type=click.Path(path_type=Path, exists=True))
@click.option("--username", metavar="SCOPE/NAME", help="The user, if the registry needs no credential.")
@command.json_option
@command.registry_option
@settings_options("data_dir")
def publish(path: Path, username: str | None, as_json: bool, server: str | None, **flags: Any) -> None:
    """Publish PATH, a skill folder or a zip of it. Exit code 1: the package is rejected.

    The credential is SKILL_REGISTRY_CLIENT_API_KEY, an API key with a scope or a token, else the token from 'login'.
    Without one, a registry on this machine may issue a token to everyone. The command then uses it, as 'dev-user'
    unless --username names another user. The scope of the skill is the part of the name before the slash.
    """
    with tempfile.TemporaryFile() as packed:
        package = _open_package(path, packed)
        with package, console.progress_bar("Uploading", hidden=as_json) as progress:
            file = cast(BinaryIO, _ProgressFile(package, progress))  # httpx calls the methods that it has
            job = _with_client(
                flags, server, lambda client: _wait(client, _upload(client, file)["job_id"]), username=username
            )
    console.show(job, _tables, as_json=as_json)
    if job["status"] != "accepted":
        command.stop(f"{job['skill_id']} {job['version']} is {job['status']}")


def _open_package(path: Path, packed: Any) -> BinaryIO:
    """Return a zip as it is, or a folder packed into the file `packed`: equal folders give equal bytes."""
    try:
        if path.is_file():
            return path.open("rb")
        pack(path, packed)
    except PackageRefused as refused:
        reasons = (f"{finding.file or path.name}: {finding.message}" for finding in refused.findings)
        command.stop("this cannot be published: " + "; ".join(reasons))
    except OSError as error:
        command.stop(f"{path} cannot be read: {error.strerror}")
    packed.seek(0)
    file: BinaryIO = packed
    return file


def _with_client(
    flags: dict[str, Any],
    server: str | None,
    call: Callable[[RegistryClient], Data],
    *,
    username: str | None = None,
    scope: str | None = None,
) -> Data:
    settings = command.load(flags)
    try:
        server = command.server_of(settings, server, flags)
        with connect_as_publisher(settings, server, username, scope) as client:
            return call(client)
    except (CommandFailed, OSError) as error:
        command.stop(error)


def _upload(client: RegistryClient, package: BinaryIO) -> Data:
    """Send a package, again if the connection breaks, and return the job. Raises CommandFailed."""
    headers = {"Idempotency-Key": uuid.uuid4().hex}  # the server knows an upload again whose answer was lost
    for _ in range(_ATTEMPTS - 1):
        try:
            return client.upload("/registry/publish", package, headers, _UPLOAD_SECONDS)
        except ConnectionFailed:
            continue
    return client.upload("/registry/publish", package, headers, _UPLOAD_SECONDS)


def _wait(client: RegistryClient, job_id: str) -> Data:
    """Return a job when it has ended, or after the time limit. Raises CommandFailed."""
    deadline = time.monotonic() + _JOB_SECONDS
    while True:
        job: Data = client.call("GET", f"/registry/publish/{quote(job_id, safe='')}/status")
        if job["completed_at"] or time.monotonic() > deadline:
            return job
        time.sleep(_POLL_SECONDS)


def _tables(job: console.Data) -> Iterator[Table | str]:
    yield f"[bold]{escape(job['skill_id'])} {escape(job['version'])}[/]: {job['status']}  {job['checksum']}"
    for field, color in (("errors", "red"), ("warnings", "yellow")):
        for finding in job[field]:
            place = f"{finding['field']}: " if finding["field"] else ""
            yield f"[{color}]{finding['kind']}[/] {escape(console.printable(place + finding['message']))}"


def _change(action: str, target: str, flags: dict[str, Any], server: str | None, *, as_json: bool) -> None:
    match = _VERSION.fullmatch(target)
    if match is None:
        command.stop(f"{target}: name a version as scope/name@1.0.0", command.WRONG_USAGE)
    path = f"/registry/skills/{quote(match[1])}/{quote(match[2], safe='')}/{action}"
    scope = match[1].partition("/")[0]
    answer = _with_client(flags, server, lambda client: cast(Data, client.call("POST", path)), scope=scope)
    console.show(answer, console.facts_table, as_json=as_json)


@click.command()
@click.argument("version", metavar="SCOPE/NAME@VERSION")
@command.json_option
@command.registry_option
@settings_options("data_dir")
def yank(version: str, as_json: bool, server: str | None, **flags: Any) -> None:
    """Hide a published version from lists and search. Clients that name the version exactly still get it."""
    _change("yank", version, flags, server, as_json=as_json)


@click.command()
@click.argument("version", metavar="SCOPE/NAME@VERSION")
@command.json_option
@command.registry_option
@settings_options("data_dir")
def unyank(version: str, as_json: bool, server: str | None, **flags: Any) -> None:
    """Undo a yank."""
    _change("unyank", version, flags, server, as_json=as_json)
