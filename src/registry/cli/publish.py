"""`skill-registry publish`: sends packages to a registry."""

import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast
from urllib.parse import quote

import click

from registry.cli import command, console
from registry.cli.backend import CommandFailed, Data, Progress
from registry.cli.help.settings_options import settings_options
from registry.cli.open_issuer import with_publisher
from registry.cli.remote import answers
from registry.cli.remote.client import ConnectionFailed, RegistryClient
from registry.cli.risk import warn_of_risk
from registry.domain.api import API
from registry.domain.file_names import printable_name
from registry.domain.skill_file import placeholder_in
from registry.outbound.git_run import GitError
from registry.packages.authoring import AuthorFolder, Reading
from registry.packages.ignored_files import ignored_by_git
from registry.packages.refusal import PackageRefused

_ACCEPTED = "accepted"
_ATTEMPTS = 3
_POLL_SECONDS = 0.3
_JOB_SECONDS = 600.0
_NAMED = 5
"""How many of the files that are left out are named in the note."""


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
@click.option("--include-secrets", is_flag=True, help="Also publish files like .env and id_rsa, which hold secrets.")
@command.json_option
@command.registry_option
@settings_options("data_dir")
def publish(
    path: Path, username: str | None, include_secrets: bool, as_json: bool, server: str | None, **flags: Any
) -> None:
    """Publish PATH, a skill folder or a zip of it. Exit code 1: the package is rejected.

    The credential is SKILL_REGISTRY_CLIENT_API_KEY, an API key with a scope or a token, else the token from 'login'.
    Without one, a registry on this machine may issue a token to everyone. The command then uses it, as 'dev-user'
    unless --username names another user. The scope of the skill is the part of the name before the slash.

    A published version stays for good. Of a folder, files of tools, such as node_modules and .DS_Store, and files that
    git ignores are left out; a zip is sent as it is. Neither is sent if it has a file that by its name holds secrets,
    or a placeholder of 'init'.
    """
    with tempfile.TemporaryFile() as packed:
        package, left_out = _open_package(path, packed)
        with package:
            _check(package, include_secrets=include_secrets)
            with console.progress_bar("Uploading", hidden=as_json) as progress:
                file = cast(BinaryIO, _ProgressFile(package, progress))  # httpx calls the methods that it has
                job = with_publisher(flags, server, lambda client: _published(client, file), username=username)
    console.show({**job, "left_out": left_out}, _tables, as_json=as_json)
    if job["status"] == "held":
        console.note(
            f"it waits for a review: another manager of the scope, or an administrator, approves it with "
            f"'skill-registry reviews approve {job['job_id']}'"
        )
    elif job["status"] != _ACCEPTED:
        command.stop(f"{job['skill_id']} {job['version']} is {job['status']}")


def _open_package(path: Path, packed: BinaryIO) -> tuple[BinaryIO, list[str]]:
    """Return a zip as it is, or a folder packed into the file `packed`, and what of the folder is left out.

    Equal files give equal bytes.
    """
    try:
        if path.is_file():
            return path.open("rb"), []
        folder = AuthorFolder(path.resolve(), ignored_by_git(path, click.get_current_context().find_root().obj))
        folder.pack(packed)
    except PackageRefused as refused:
        reasons = (
            f"{finding.file}: {finding.message}" if finding.file else finding.message for finding in refused.findings
        )
        command.stop("this cannot be published: " + "; ".join(reasons))
    except GitError as error:
        command.stop(f"this cannot be published: {error}")
    except OSError as error:
        command.stop(f"{path} cannot be read: {error.strerror}")
    left_out = [printable_name(name) for name in folder.left_out]
    if left_out:
        console.note(f"not in the package: {_listed(left_out)}")
    return packed, left_out


def _check(package: BinaryIO, *, include_secrets: bool) -> None:
    """Exit if a package holds what its author cannot mean to publish. What the registry refuses is left to it."""
    try:
        reading = Reading(package)
    except PackageRefused:
        return
    if reading.private_keys:
        command.stop(f"nothing is sent: no registry accepts private keys, as in {_listed(reading.private_keys)}")
    if reading.secrets and not include_secrets:
        command.stop(
            f"nothing is sent, because a version stays for good: {_listed(reading.secrets)} may hold secrets. Delete "
            "such files, have git ignore them, or give --include-secrets to publish them"
        )
    if placeholder := placeholder_in(reading.skill_file):
        command.stop(f"nothing is sent: SKILL.md still says '{placeholder}'. Replace it with what the skill does")


def _listed(names: Sequence[str]) -> str:
    """Return the first names, and how many more there are."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _upload(client: RegistryClient, package: BinaryIO) -> Data:
    """Send a package, again if the connection breaks, and return the job. Raises CommandFailed."""
    headers = {"Idempotency-Key": uuid.uuid4().hex}  # the server knows an upload again whose answer was lost
    upload = partial(client.upload, answers.Job, f"{API}/registry/publish", package, headers)
    for _ in range(_ATTEMPTS - 1):
        with suppress(ConnectionFailed):
            return cast(Data, upload())
    return cast(Data, upload())


def _published(client: RegistryClient, package: BinaryIO) -> Data:
    """Return the job of a package that was sent, with the addresses of the version if it was accepted."""
    job = _wait(client, _upload(client, package)["job_id"])
    if job["status"] != _ACCEPTED:
        return job
    path = quote(job["skill_id"])
    with suppress(CommandFailed):
        skill = client.call(answers.Skill, "GET", f"{API}/skills/{path}")
        if skill["version"] == job["version"]:
            warn_of_risk(skill)
    install = f"skill-registry install {job['skill_id']} --from {client.base}"
    return {**job, "page": f"{client.base}/skills/{path}", "install": install}


def _wait(client: RegistryClient, job_id: str) -> Data:
    """Return a job when it has ended or waits for a review, or after the time limit. Raises CommandFailed."""
    deadline = time.monotonic() + _JOB_SECONDS
    while True:
        path = f"{API}/registry/publish/{quote(job_id, safe='')}/status"
        job: Data = client.call(answers.Publishing, "GET", path)
        if job["completed_at"] or job["status"] == "held" or time.monotonic() > deadline:
            return job
        time.sleep(_POLL_SECONDS)


def _tables(job: console.Data) -> Iterator[console.Part]:
    name, is_accepted = f"{job['skill_id']} {job['version']}", job["status"] == _ACCEPTED
    start, end = ("Published ", "") if is_accepted else ("", f": {job['status']}")
    yield console.line(start, (name, "bold"), f"{end}  {job['checksum']}")
    for field, color in (("errors", "red"), ("warnings", "yellow")):
        for finding in job[field]:
            place = f"{finding['field']}: " if finding["field"] else ""
            yield console.line((finding["kind"], color), f" {place}{finding['message']}")
    if is_accepted:
        yield f"Page:    {job['page']}"
        yield f"Install: {job['install']}"
