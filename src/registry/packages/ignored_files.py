"""Asks git which files of a folder it ignores, without executing anything that the repository configures.

The repository is untrusted. Its configuration is read, since `core.ignoreCase` is part of the answer, but
what could start a program or reach the network is switched off on the command line. The user's own configuration and
list of ignored files count as for any git command.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from registry.outbound.git_run import SAFE_CONFIG, GitError
from registry.outbound.process_limits import ProcessLimits

_SECONDS = 30.0
_LIMITS = ProcessLimits(memory_bytes=1 << 30, cpu_seconds=30, file_bytes=100 << 20)
_OF_THE_USER = ("HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL")
_NO_REPOSITORY = b"fatal: not a git repository"
_IS_IGNORED, _IS_NOT_IGNORED = 0, 1


def ignored_by_git(folder: Path, environment: Mapping[str, str]) -> frozenset[str]:
    """Return the paths below a folder that git ignores; that of an ignored folder stands for its files.

    There are none without git, outside of a work tree, and in a folder that is itself ignored: a user who names that
    folder means its files. `.` stands for all files. `environment` is that of the user. Raises GitError.
    """
    folder = folder.resolve()
    top = next((parent for parent in (folder, *folder.parents) if _has_repository(parent)), None)
    program = shutil.which("git")
    if top is None or program is None:
        return frozenset()
    git = _LocalGit(program, folder, top, environment)
    if folder != top and git.run("check-ignore", "--quiet", "--", ".").returncode == _IS_IGNORED:
        return frozenset()
    listed = git.run("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
    return frozenset(os.fsdecode(name).rstrip("/") for name in listed.stdout.split(b"\0") if name)


def _has_repository(folder: Path) -> bool:
    return os.path.isfile(f"{folder}/.git") or os.path.exists(f"{folder}/.git/HEAD")  # noqa: PTH110, PTH113 - no errors


class _LocalGit:
    """Runs git in a folder of a work tree. No variable of the user's git selects another repository."""

    def __init__(self, program: str, folder: Path, top: Path, environment: Mapping[str, str]) -> None:
        settings = (part for name, value in SAFE_CONFIG.items() for part in ("-c", f"{name}={value}"))
        self._command = (program, *settings)
        self._folder = folder
        self._environment = {
            "PATH": os.defpath,
            "LC_ALL": "C",
            "GIT_DIR": f"{top}/.git",
            "GIT_WORK_TREE": str(top),
            "GIT_ALLOW_PROTOCOL": "none",  # a partial clone would fetch what is missing
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            **{name: environment[name] for name in _OF_THE_USER if name in environment},
        }

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
        """Run a command that says yes, no, or that there is no repository. Raises GitError for another failure."""
        try:
            process = subprocess.run(  # noqa: S603 - the arguments are constants
                _LIMITS.command([*self._command, *arguments]),
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise GitError(f"git does not say within {_SECONDS:.0f} seconds which files it ignores") from None
        if process.returncode in (_IS_IGNORED, _IS_NOT_IGNORED) or process.stderr.startswith(_NO_REPOSITORY):
            return process
        reason = process.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ").partition("\n")[0]
        raise GitError(f"git does not say which files it ignores: {reason[:300] or process.returncode}")
