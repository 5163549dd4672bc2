"""Runs git commands, within limits and without executing anything that a repository contains.

Refused or disabled, and why:

- transports other than http and https: `ext::` runs commands, `file://` reads this machine, `ssh://` takes options;
- redirects and a second DNS lookup: both would bypass the check of the address;
- hooks, filters, submodules and links: a checkout writes only plain files;
- the configuration of the user and the machine, prompts and credential helpers.
"""

import contextlib
import math
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from registry.domain.addresses import OutboundError, redact_url
from registry.outbound.interruption import current_interruption
from registry.outbound.process_limits import ProcessLimits
from search.steps import step

_POLL_SECONDS = 0.05
_SPARE_SECONDS = 2
_SPARE_BYTES = 16 << 20
"""What a file may have beyond the limit, so that the limit of a repository is what ends a fetch."""

_OUT_OF_MEMORY = (b"out of memory", b"cannot allocate memory")
_TOO_LARGE = b"File too large"
_REFUSED_BY_PROXY = re.compile(
    rb"error: (407)\b|CONNECT tunnel failed, response (\d{3})|HTTP code (\d{3}) from proxy after CONNECT"
)
_NO_REF = re.compile(rb"couldn't find remote ref (\S+)")
_REDIRECTED = re.compile(rb"The requested URL returned error: 30[12378]\b")
_SERVER_FAULT = re.compile(rb"The requested URL returned error: (5\d\d)\b")
_EXPLAINED = (
    (b"The requested URL returned error: 403", "its server refuses access (403)"),
    (b"The requested URL returned error: 429", "its server got too many requests (429): try again later"),
    (
        b"could not read Username",
        "its server wants a credential (401): its address is wrong, or it is private and outbound.git_credentials or "
        "outbound.netrc_file must have the credential",
    ),
    (b"Authentication failed", "its server refuses the credential (401)"),
    (b"info/refs not valid", "its server answers with something else than a repository, such as a web page"),
)
"""What git writes, and what it means for a reader who does not know how git speaks HTTP."""

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
    "core.sshCommand": "ssh",
    "core.gitProxy": "",
    "core.askPass": "",
    "core.attributesFile": os.devnull,
    "commit.gpgSign": "false",
    "push.gpgSign": "false",
    "tag.gpgSign": "false",
    "core.protectHFS": "true",
    "core.protectNTFS": "true",
    "core.autocrlf": "false",
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "false",
    "fetch.unpackLimit": "1",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "init.defaultBranch": "main",
    # Honest repositories of any size stay far below the limit of the address space: packs are mapped in windows, large
    # files are streamed, and no thread reserves memory of its own.
    "core.packedGitWindowSize": "16m",
    "core.packedGitLimit": "128m",
    "core.deltaBaseCacheLimit": "32m",
    "core.bigFileThreshold": "32m",
    "pack.threads": "1",
    "pack.windowMemory": "64m",
    "pack.deltaCacheSize": "32m",
    "index.threads": "1",
    "checkout.workers": "1",
}
"""The git configuration for untrusted repositories."""


class GitError(OutboundError):
    """A repository cannot be read; the message says which one and why, without credentials."""


class GitLimitReached(GitError):
    """A repository takes more time, space or memory than it may, or a caller has cancelled the operation."""


class GitRedirected(GitError):
    """A repository is at another address now."""


class GitPlaceMissing(GitError):
    """A repository has no such branch, tag or folder."""


class GitNoDefaultBranch(GitPlaceMissing):
    """A repository is empty, or its default branch has been renamed or removed."""


class GitLimits(NamedTuple):
    """The limits of one operation.

    Attributes:
        seconds: The time, after which its processes are killed.
        size: The size in bytes, both of the fetched data and of the checked-out files.
        memory_bytes: The address space of each process.
        size_setting: The setting of the size, for messages.
    """

    seconds: float = 60.0
    size: int = 100 << 20
    memory_bytes: int = 1 << 30
    size_setting: str = "limits.git_bytes"


def missing_ref(repository: str, refspec: str) -> GitPlaceMissing:
    """Return the error for a branch or tag that a repository does not have."""
    if refspec == "HEAD":
        return GitNoDefaultBranch(f"{repository} has no default branch")
    kind = {"refs/heads/": "branch ", "refs/tags/": "tag "}
    named = (word + refspec.removeprefix(start) for start, word in kind.items() if refspec.startswith(start))
    return GitPlaceMissing(f"{repository} has no {next(named, refspec)}")


def git_program() -> str:
    """Return the path of git. Raises GitError if it is not installed."""
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
        limits: The time for all commands, and the size of the `.git` folder and the output.
        proxy: The host of the proxy that the URL is reached through, for messages.
    """

    def __init__(
        self, url: str, settings: Mapping[str, str], folder: Path, limits: GitLimits, proxy: str | None = None
    ) -> None:
        self.url = url
        self._program = git_program()
        self._settings = settings
        self.folder = folder
        self._deadline = time.monotonic() + limits.seconds
        self._limits = limits
        self._of_process = ProcessLimits(
            limits.memory_bytes, math.ceil(limits.seconds) + _SPARE_SECONDS, limits.size + _SPARE_BYTES
        )
        self._has_proxy = proxy is not None
        self._name = redact_url(url) + (f" (through the proxy {proxy})" if proxy else "")

    @step("git command")
    def __call__(self, *arguments: str, stdin: bytes = b"") -> str:
        """Run a command with this standard input and return its output. Raises GitError."""
        with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            source.write(stdin)
            source.seek(0)
            process = subprocess.Popen(  # noqa: S603 - the arguments are constants, or checked by their types
                self._of_process.command([self._program, *arguments]),
                cwd=self.folder,
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
                raise self._failure(process.returncode, errors.read(64 << 10))
            output.seek(0)
            return output.read().decode("utf-8", "replace")

    def _watch(self, process: "subprocess.Popen[bytes]", output: int) -> None:
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_POLL_SECONDS)
                return
            if (interruption := current_interruption()) is not None and interruption.is_set:
                raise GitLimitReached(f"reading {self._name} was cancelled")
            if time.monotonic() > self._deadline:
                raise GitLimitReached(f"{self._name} did not answer in time")
            if _size(self.folder / ".git") + os.fstat(output).st_size > self._limits.size:
                raise self._too_large()

    def _too_large(self) -> GitError:
        limit = f"{self._limits.size:,} bytes ({self._limits.size_setting})"
        return GitLimitReached(f"{self._name} is larger than {limit}")

    def _failure(self, code: int, errors: bytes) -> GitError:
        if any(sign in errors.lower() for sign in _OUT_OF_MEMORY):
            return GitLimitReached(
                f"{self._name} needs more memory than git may use, {self._limits.memory_bytes:,} bytes "
                "(limits.git_memory_bytes)"
            )
        if code == -signal.SIGXFSZ or _TOO_LARGE in errors:
            return self._too_large()
        if self._has_proxy and (refused := _REFUSED_BY_PROXY.search(errors)):
            status = next(filter(None, refused.groups())).decode()
            return GitError(f"{self._name} cannot be read: the proxy refuses it ({status})")
        if missing := _NO_REF.search(errors):
            return missing_ref(self._name, missing[1].decode("utf-8", "replace"))
        failure = GitRedirected if _REDIRECTED.search(errors) else GitError
        return failure(f"{self._name} cannot be read: {_reason(errors, self.folder)}")

    def _environment(self) -> Mapping[str, str]:
        """Return the complete environment of git. Other users cannot read settings and credentials there."""
        environment = {
            "PATH": os.defpath,
            "HOME": os.devnull,
            "LC_ALL": "C",
            "MALLOC_ARENA_MAX": "1",  # each other arena reserves 64 MiB of the address space
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_LFS_SKIP_SMUDGE": "1",
            "GIT_CEILING_DIRECTORIES": str(self.folder.parent),
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
    """Return the reason in words, or the most telling line of git's error output, without paths of this machine."""
    if (fault := _SERVER_FAULT.search(errors)) is not None:
        return f"its server has an error of its own ({fault[1].decode()}): try again later"
    for sign, reason in _EXPLAINED:
        if sign in errors:
            return reason
    lines = [line.strip() for line in errors.decode("utf-8", "replace").splitlines() if line.strip()]
    messages = [line for line in lines if line.startswith(("fatal:", "error:"))] or lines or ["git failed"]
    text = messages[0].partition(": ")[2] or messages[0]
    return "".join(char for char in text.replace(str(folder), ".") if char.isprintable())[:300]
