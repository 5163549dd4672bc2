"""Refuses a clone that neither the service nor a plain `git clone` has made.

git runs programs that the configuration of a clone names: `core.sshCommand`, filters, hooks, credential helpers,
`core.fsmonitor`, and more with each release. A folder that a user has unpacked may hold such a clone, and a
`registry.toml` that names it. So the check knows the settings that run nothing, and refuses all others.
"""

import re
from pathlib import Path

from registry.outbound.git_run import GitError, GitRun

_HARMLESS = re.compile(
    r"core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks)"
    r"|remote\..*\.(?:url|fetch)|branch\..*\.(?:remote|merge)|user\.(?:name|email)",
    re.DOTALL,
)
_ELSEWHERE = ("commondir", "config.worktree")
"""Files of a repository that name another configuration."""


def check_clone(folder: Path, run: GitRun) -> None:
    """Raise GitError if the configuration of the clone in a folder has settings that may run programs."""
    repository = folder / ".git"
    parts = (repository, repository / "config")
    has_links = any(part.is_symlink() for part in parts)
    if has_links or any((repository / name).exists() for name in _ELSEWHERE):
        raise _refused(folder, "its configuration is elsewhere")
    if not parts[1].exists():
        return
    listed = run("config", "--file", str(parts[1].absolute()), "--no-includes", "--list", "--null", "--name-only")
    others = [name for name in listed.split("\0") if name and not _HARMLESS.fullmatch(name)]
    if others:
        raise _refused(folder, f"it sets {others[0]}")


def _refused(folder: Path, reason: str) -> GitError:
    return GitError(
        f"the clone in {folder.name} is not one that the service has made ({reason}): remove the folder, and the "
        "service clones the registry index again"
    )
