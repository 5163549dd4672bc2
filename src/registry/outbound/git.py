"""The one place that runs git: shallow reads of other people's repositories, and nothing of them is executed.

What is refused or switched off, and why:

- transports but http and https: `ext::` runs commands, `file://` reads this machine, `ssh://` takes options;
- redirects and a second look-up of the host: both would lead round the check of its address;
- hooks, filters, submodules, links: a checkout only writes plain files;
- the user's and the machine's configuration, prompts and credential helpers.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from registry.domain.origins import GitOrigin, GitRef
from registry.outbound import AddressPolicy, Endpoint, OutboundError, basic_authorization, parse_url, shown

_OLDEST = (2, 37)
"""The first release that knows `http.curloptResolve`, by which the address is pinned."""

_POLL_SECONDS = 0.05
_MOST_FILES = 50_000
READING: Mapping[str, str] = {
    "protocol.allow": "never",
    "protocol.http.allow": "always",
    "protocol.https.allow": "always",
    "http.followRedirects": "false",
    "http.proxy": "",
    "http.lowSpeedLimit": "1",
    "http.lowSpeedTime": "30",
    "credential.helper": "",
    "core.symlinks": "false",
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.protectHFS": "true",
    "core.protectNTFS": "true",
    "core.autocrlf": "false",
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "false",
    "fetch.unpackLimit": "1",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "init.defaultBranch": "main",
}
"""What git is told where it reads what strangers have made."""


class GitError(OutboundError):
    """A repository cannot be read; the message says which and why, without credentials."""


class Checkout(NamedTuple):
    """A state of a repository on disk: its commit, and the folder that was asked for."""

    commit: str
    path: Path


class Git:
    """Reads repositories over http and https.

    Args:
        policy: Which addresses may be reached.
        seconds: How long one operation may take; then every process of it is killed.
        limit: How many bytes may be fetched, and how many the files may have.
    """

    def __init__(self, policy: AddressPolicy, seconds: float = 60.0, limit: int = 100 << 20) -> None:
        self._policy = policy
        self._seconds = seconds
        self._limit = limit

    def latest(self, origin: GitOrigin) -> str:
        """Return the commit an origin stands for now. Raises GitError."""
        if origin.ref is not None and origin.ref.commit is not None:
            return origin.ref.commit
        wanted = _refspec(origin.ref)
        with tempfile.TemporaryDirectory(prefix="skill-registry-git-") as folder:
            run = self._run(origin, Path(folder))
            lines = run("ls-remote", "--", run.url, wanted, f"{wanted}^{{}}").splitlines()
        found = {name: commit for commit, _, name in (line.partition("\t") for line in lines)}
        # What an annotated tag points at is listed as `name^{}`.
        commit = found.get(f"{wanted}^{{}}") or found.get(wanted)
        if not commit:
            raise GitError(f"{shown(origin.url)} has no {wanted}")
        return commit

    def fetch(self, origin: GitOrigin, into: Path) -> Checkout:
        """Write the files of an origin below `into`, a folder that does not exist yet.

        Links become plain files that hold where they point. Raises GitError, after which `into` is gone.
        """
        into.mkdir(parents=True)
        try:
            return self._fetch(origin, into)
        except BaseException:
            shutil.rmtree(into, ignore_errors=True)
            raise

    def _fetch(self, origin: GitOrigin, into: Path) -> Checkout:
        run = self._run(origin, into)
        run("init", "--quiet", "--template=", ".")
        refspec = _refspec(origin.ref)
        run("fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--", run.url, refspec)
        commit = run("rev-parse", "--verify", "--end-of-options", "FETCH_HEAD^{commit}").strip()
        path = f":(literal,top){origin.subdir or ''}"
        self._check_size(run("ls-tree", "-r", "-l", "-z", "--full-tree", commit, "--", origin.subdir or "."), origin)
        run("checkout", "--quiet", "--no-overlay", commit, "--", path)
        shutil.rmtree(into / ".git")
        return Checkout(commit, into / origin.subdir if origin.subdir else into)

    def _check_size(self, listing: str, origin: GitOrigin) -> None:
        """Refuse a tree of too many or too large files before any is written: packed, it may have been small."""
        sizes = [entry.split("\t", 1)[0].split()[-1] for entry in listing.split("\0") if entry]
        if not sizes:
            raise GitError(f"{shown(origin.url)} has no folder {origin.subdir or '.'}")
        if len(sizes) > _MOST_FILES:
            raise GitError(f"{shown(origin.url)} has more than {_MOST_FILES:,} files")
        if sum(int(size) for size in sizes if size.isdigit()) > self._limit:
            raise GitError(f"the files of {shown(origin.url)} are larger than {self._limit:,} bytes")

    def _run(self, origin: GitOrigin, folder: Path) -> "GitRun":
        target = parse_url(origin.url)
        self._check_release()
        addresses = self._policy.addresses(target.host, target.port)
        settings = {**READING, **authorized(target)}
        if ":" not in target.host:  # an IPv6 address is its own pin
            pinned = ",".join(f"[{one}]" if ":" in one else one for one in addresses)
            settings["http.curloptResolve"] = f"{target.host}:{target.port}:{pinned}"
        return GitRun(str(target.url), settings, folder, self._seconds, self._limit)

    def _check_release(self) -> None:
        told = subprocess.run([_program(), "version"], capture_output=True, text=True, timeout=10, check=False)  # noqa: S603
        numbers = [int(part) for part in told.stdout.split()[2].split(".")[:2]]
        if tuple(numbers) < _OLDEST:
            raise GitError("git 2.37 or newer is needed to read repositories")


def _refspec(ref: GitRef | None) -> str:
    return ref.refspec if ref is not None else "HEAD"


def authorized(target: Endpoint) -> Mapping[str, str]:
    """Return the setting that carries a URL's user and password, which no command line shows."""
    if not target.credentials:
        return {}
    return {"http.extraHeader": f"Authorization: {basic_authorization(target.credentials)}"}


def _program() -> str:
    program = shutil.which("git")
    if program is None:
        raise GitError("git is not installed")
    return program


class GitRun:
    """Runs git commands on one folder, with one deadline for them all.

    Args:
        url: The repository, without credentials.
        settings: The whole of git's configuration, such as `READING`.
        folder: Where git runs; what is in its `.git` may have `limit` bytes.
    """

    def __init__(self, url: str, settings: Mapping[str, str], folder: Path, seconds: float, limit: int) -> None:
        self.url = url
        self._program = _program()
        self._settings = settings
        self._folder = folder
        self._until = time.monotonic() + seconds
        self._limit = limit
        self._where = shown(url)

    def __call__(self, *arguments: str, given: bytes = b"") -> str:
        """Return what a command prints that reads what is given. Raises GitError."""
        with tempfile.TemporaryFile() as read, tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            read.write(given)
            read.seek(0)
            process = subprocess.Popen(  # noqa: S603 - the arguments are constants, or checked by their types
                [self._program, *arguments],
                cwd=self._folder,
                env=self._environment(),
                stdin=read,
                stdout=output,
                stderr=errors,
                start_new_session=True,
            )
            try:
                self._watch(process, output.fileno())
            finally:
                _kill(process)
            if process.returncode:
                errors.seek(0)
                raise GitError(f"{self._where} cannot be read: {_reason(errors.read(64 << 10), self._folder)}")
            output.seek(0)
            return output.read().decode("utf-8", "replace")

    def _watch(self, process: "subprocess.Popen[bytes]", output: int) -> None:
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_POLL_SECONDS)
                return
            if time.monotonic() > self._until:
                raise GitError(f"{self._where} did not answer in time")
            if _size(self._folder / ".git") + os.fstat(output).st_size > self._limit:
                raise GitError(f"{self._where} is larger than {self._limit:,} bytes")

    def _environment(self) -> Mapping[str, str]:
        """Return the whole environment of git: in it settings, credentials among them, are nobody else's to read."""
        environment = {
            "PATH": os.defpath,
            "HOME": os.devnull,
            "LC_ALL": "C",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_LFS_SKIP_SMUDGE": "1",
            "GIT_CEILING_DIRECTORIES": str(self._folder.parent),
            "GIT_CONFIG_COUNT": str(len(self._settings)),
        }
        for number, (key, value) in enumerate(self._settings.items()):
            environment |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
        return environment


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """End a command with the helpers it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _size(folder: Path) -> int:
    """Return how many bytes the files below a folder have; those that come and go meanwhile may be missed."""
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(f"{where}/{name}").st_size
            except OSError:
                continue
    return total


def _reason(errors: bytes, folder: Path) -> str:
    """Return the line of git's complaint that says most, without places on this machine."""
    lines = [line.strip() for line in errors.decode("utf-8", "replace").splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith(("fatal:", "error:"))] or lines or ["git failed"]
    text = telling[0].partition(": ")[2] or telling[0]
    return "".join(sign for sign in text.replace(str(folder), ".") if sign.isprintable())[:300]
