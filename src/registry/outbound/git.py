"""Runs git: shallow fetches from untrusted repositories, without executing anything in them.

Refused or disabled, and why:

- transports other than http and https: `ext::` runs commands, `file://` reads this machine, `ssh://` takes options;
- redirects and a second DNS lookup: both would bypass the check of the address;
- hooks, filters, submodules and links: a checkout writes only plain files;
- the configuration of the user and the machine, prompts and credential helpers.
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
from registry.outbound import AddressPolicy, Endpoint, OutboundError, basic_authorization, parse_url, redact_url
from registry.outbound.interruption import current_interruption

_MIN_VERSION = (2, 37)
"""The first release with `http.curloptResolve`, which pins the address."""

_POLL_SECONDS = 0.05
_MAX_FILES = 50_000
SAFE_CONFIG: Mapping[str, str] = {
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
"""The git configuration for untrusted repositories."""


class GitError(OutboundError):
    """A repository cannot be read; the message says which one and why, without credentials."""


class Checkout(NamedTuple):
    """The files of a repository on disk: their commit, and the requested folder."""

    commit: str
    path: Path


class Git:
    """Reads repositories over http and https.

    Args:
        policy: The addresses that may be reached.
        seconds: The time limit of one operation, after which its processes are killed.
        limit: The size limit in bytes, both of the fetched data and of the checked-out files.
    """

    def __init__(self, policy: AddressPolicy, seconds: float = 60.0, limit: int = 100 << 20) -> None:
        self._policy = policy
        self._seconds = seconds
        self._limit = limit

    def latest(self, origin: GitOrigin) -> str:
        """Return the current commit of an origin. Raises GitError."""
        if origin.ref is not None and origin.ref.commit is not None:
            return origin.ref.commit
        refspec = _refspec(origin.ref)
        with tempfile.TemporaryDirectory(prefix="skill-registry-git-") as folder:
            run = self._run(origin, Path(folder))
            lines = run("ls-remote", "--", run.url, refspec, f"{refspec}^{{}}").splitlines()
        commits = {name: commit for commit, _, name in (line.partition("\t") for line in lines)}
        # `name^{}` is the commit that an annotated tag points at.
        commit = commits.get(f"{refspec}^{{}}") or commits.get(refspec)
        if not commit:
            raise GitError(f"{redact_url(origin.url)} has no {refspec}")
        return commit

    def fetch(self, origin: GitOrigin, into: Path) -> Checkout:
        """Write the files of an origin below `into`, a folder that must not exist yet.

        Links become plain files that contain their target. Raises GitError; `into` does not exist afterwards.
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
        """Refuse too many or too large files before any is written, since packed they may be small."""
        sizes = [entry.split("\t", 1)[0].split()[-1] for entry in listing.split("\0") if entry]
        if not sizes:
            raise GitError(f"{redact_url(origin.url)} has no folder {origin.subdir or '.'}")
        if len(sizes) > _MAX_FILES:
            raise GitError(f"{redact_url(origin.url)} has more than {_MAX_FILES:,} files")
        if sum(int(size) for size in sizes if size.isdigit()) > self._limit:
            raise GitError(f"the files of {redact_url(origin.url)} are larger than {self._limit:,} bytes")

    def _run(self, origin: GitOrigin, folder: Path) -> "GitRun":
        target = parse_url(origin.url)
        self._check_version()
        addresses = self._policy.addresses(target.host, target.port)
        settings = {**SAFE_CONFIG, **authorization_config(target)}
        if ":" not in target.host:  # an IPv6 address needs no pin
            pinned = ",".join(f"[{address}]" if ":" in address else address for address in addresses)
            settings["http.curloptResolve"] = f"{target.host}:{target.port}:{pinned}"
        return GitRun(str(target.url), settings, folder, self._seconds, self._limit)

    def _check_version(self) -> None:
        result = subprocess.run([_program(), "version"], capture_output=True, text=True, timeout=10, check=False)  # noqa: S603
        numbers = [int(part) for part in result.stdout.split()[2].split(".")[:2]]
        if tuple(numbers) < _MIN_VERSION:
            raise GitError("reading repositories needs git 2.37 or newer: upgrade git")


def _refspec(ref: GitRef | None) -> str:
    return ref.refspec if ref is not None else "HEAD"


def authorization_config(target: Endpoint) -> Mapping[str, str]:
    """Return the git configuration with the credentials of a URL, so that no command line shows them."""
    if not target.credentials:
        return {}
    return {"http.extraHeader": f"Authorization: {basic_authorization(target.credentials)}"}


def _program() -> str:
    program = shutil.which("git")
    if program is None:
        raise GitError("git is not installed: install git 2.37 or newer")
    return program


class GitRun:
    """Runs git commands in one folder, with one deadline for all of them.

    Args:
        url: The URL of the repository, without credentials.
        settings: The complete git configuration, such as `SAFE_CONFIG`.
        folder: The working directory.
        seconds: The time limit for all commands.
        limit: The size limit of the `.git` folder and the output, in bytes.
    """

    def __init__(self, url: str, settings: Mapping[str, str], folder: Path, seconds: float, limit: int) -> None:
        self.url = url
        self._program = _program()
        self._settings = settings
        self._folder = folder
        self._deadline = time.monotonic() + seconds
        self._limit = limit
        self._name = redact_url(url)

    def __call__(self, *arguments: str, stdin: bytes = b"") -> str:
        """Run a command with this standard input and return its output. Raises GitError."""
        with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            source.write(stdin)
            source.seek(0)
            process = subprocess.Popen(  # noqa: S603 - the arguments are constants, or checked by their types
                [self._program, *arguments],
                cwd=self._folder,
                env=self._environment(),
                stdin=source,
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
                raise GitError(f"{self._name} cannot be read: {_reason(errors.read(64 << 10), self._folder)}")
            output.seek(0)
            return output.read().decode("utf-8", "replace")

    def _watch(self, process: "subprocess.Popen[bytes]", output: int) -> None:
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_POLL_SECONDS)
                return
            if (interruption := current_interruption()) is not None and interruption.is_set:
                raise GitError(f"reading {self._name} was cancelled")
            if time.monotonic() > self._deadline:
                raise GitError(f"{self._name} did not answer in time")
            if _size(self._folder / ".git") + os.fstat(output).st_size > self._limit:
                raise GitError(f"{self._name} is larger than {self._limit:,} bytes")

    def _environment(self) -> Mapping[str, str]:
        """Return the complete environment of git. Other users cannot read settings and credentials there."""
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
    """Kill a command and the processes it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _size(folder: Path) -> int:
    """Return the total size of the files below a folder, in bytes. Files that change meanwhile may be missed."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(f"{parent}/{name}").st_size
            except OSError:
                continue
    return total


def _reason(errors: bytes, folder: Path) -> str:
    """Return the most telling line of git's error output, without paths of this machine."""
    lines = [line.strip() for line in errors.decode("utf-8", "replace").splitlines() if line.strip()]
    messages = [line for line in lines if line.startswith(("fatal:", "error:"))] or lines or ["git failed"]
    text = messages[0].partition(": ")[2] or messages[0]
    return "".join(char for char in text.replace(str(folder), ".") if char.isprintable())[:300]
