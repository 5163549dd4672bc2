"""The registry index as a git repository with one file `<scope>/<name>` per skill, generated from the catalog.

The operator configures the repository, so `file`, `http`, `https` and `ssh` URLs are allowed and addresses are not
checked. Nothing in the repository is executed: hooks, filters, links and submodules are disabled.
"""

import copy
import logging
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from registry.outbound import parse_url
from registry.outbound.git_access import GitAccess
from registry.outbound.git_run import SAFE_CONFIG, GitError, GitLimits, GitRun
from registry.publish.clone_check import check_clone
from registry.publish.index_lines import SkippedLine, merged
from registry.publish.index_log import Attachment
from registry.runtime.atomic_files import TEMPORARY_PREFIX, temporary_path

_log = logging.getLogger("registry.publish")

PUSHES = 5
"""The maximum number of attempts to push a change on top of the remote branch in one round."""

_VOLUME_FOLDER = "lost+found"
"""A folder that some file systems create in their root."""

_MAX_FILE_BYTES = 8 << 20
_WARNINGS = 20
"""The maximum number of warnings about single lines of one file."""

_WRITE_CONFIG: Mapping[str, str] = {
    **SAFE_CONFIG,
    "protocol.file.allow": "always",
    "protocol.ssh.allow": "always",
    "push.default": "nothing",
    "gc.auto": "2000",
    "gc.autoDetach": "false",
}

_COMMITTER = "skill-registry <skill-registry@localhost>"


class GitIndex:
    """A clone of the index at `folder`. It can be recreated from the catalog and the remote.

    Args:
        url: The repository, optionally with credentials, or a local folder.
        branch: The branch that is read and pushed.
        folder: The folder of the clone. `prepare` fills an empty or missing folder.
        limits: The limits of a git operation and of the clone.
        access: The proxies, certificates and credentials.
    """

    def __init__(self, url: str, branch: str, folder: Path, limits: GitLimits, access: GitAccess | None = None) -> None:
        self._branch = branch
        self._folder = folder
        self._limits = limits
        self._pushed: str | None = None
        self._checked: tuple[int, ...] | None = None
        self._url, self._settings = url, dict(_WRITE_CONFIG)
        if ":" not in url:  # a local folder; git runs in a different working directory
            self._url = str(Path(url).absolute())
        elif url.startswith(("http://", "https://")):
            target = parse_url(url)
            self._url = str(target.url)
            self._settings |= (access or GitAccess()).configuration(target)

    def create_remote(self) -> None:
        """Make the repository, which must be a local folder, unless it is there. Raises GitError, OSError."""
        remote = Path(self._url)
        remote.mkdir(parents=True, exist_ok=True)
        run = GitRun(self._url, self._settings, remote, self._limits)
        run("init", "--quiet", "--bare", "--template=", f"--initial-branch={self._branch}", ".")

    def prepare(self) -> None:
        """Clone the index if the folder is empty or missing. Otherwise the folder must be a clone.

        Raises GitError, and then leaves no partial clone.
        """
        if (self._folder / ".git").is_dir():
            self._run(self._folder)
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        for left in self._folder.glob(f"{TEMPORARY_PREFIX}*"):
            shutil.rmtree(left, ignore_errors=True)
        if any(path.name != _VOLUME_FOLDER for path in self._folder.iterdir()):
            raise GitError(f"the folder {self._folder.name} of the registry index contains files and no clone")
        # Within the folder, because it may be a separate volume, to which a rename fails.
        clone = temporary_path(self._folder, "index-")
        clone.mkdir()
        try:
            run = self._run(clone)
            run("init", "--quiet", "--template=", ".")
            tip = self._fetch(run, clone)
            (clone / ".git").replace(self._folder / ".git")
        finally:
            shutil.rmtree(clone, ignore_errors=True)
        if tip is not None:
            self._run(self._folder)("reset", "--quiet", "--hard")

    def _run(self, folder: Path) -> GitRun:
        """Return git in a folder. Raises GitError for a clone whose configuration may run programs."""
        run = GitRun(self._url, self._settings, folder, self._limits)
        state = _config_state(folder)
        if state != self._checked:
            check_clone(folder, run)
            self._checked = state
        return run

    def _fetch(self, run: GitRun, folder: Path) -> str | None:
        """Reset the clone to the remote branch and return its commit, None if the branch does not exist."""
        branch = f"refs/heads/{self._branch}"
        for pattern in ("*.lock", "refs/**/*.lock", "objects/pack/tmp_*"):
            for left in (folder / ".git").glob(pattern):  # of a killed git; no other process uses this clone
                left.unlink(missing_ok=True)
        if self._remote_tip(run) is None:
            run("symbolic-ref", "HEAD", branch)
            run("update-ref", "-d", branch)
            run("read-tree", "--empty")
            tip = None
        else:
            self._fetch_into(run, "refs/remote")
            run("checkout", "--quiet", "--force", "-B", self._branch, "refs/remote", "--")
            tip = run("rev-parse", "--verify", "refs/remote^{commit}").strip()
        _clean(run)
        return tip

    def _fetch_into(self, run: GitRun, ref: str) -> None:
        """Fetch the remote branch into a ref."""
        refs = f"+refs/heads/{self._branch}:{ref}"
        run("fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--", self._url, refs)

    def _remote_tip(self, run: GitRun) -> str | None:
        """Return the commit of the remote branch, None if it does not exist."""
        refs = run("ls-remote", "--heads", "--", self._url, f"refs/heads/{self._branch}")
        return refs.split()[0] if refs.strip() else None

    def read(self) -> str | None:
        """Reset the clone to the remote branch; return its commit, None if there is none. Raises GitError, OSError.

        Git packs loose objects from time to time.
        """
        run = self._run(self._folder)
        self._pushed = self._fetch(run, self._folder)
        run("gc", "--auto", "--quiet")
        return self._pushed

    def contains(self, commit: str) -> bool:
        """Return whether the branch, as last read, contains a commit. Raises GitError."""
        run = self._run(self._folder)
        try:
            return run("merge-base", commit, "HEAD").strip() == commit
        except GitError:
            return False

    def is_cloned(self) -> bool:
        """Return whether the clone exists."""
        return (self._folder / ".git").is_dir()

    def clone_remote(self, folder: Path) -> "GitIndex":
        """Create a bare clone of the current remote branch in an empty folder. Raises GitError, OSError.

        It borrows the objects of this clone, which stays unchanged, so another process may push from it meanwhile.
        """
        clone = copy.copy(self)
        clone._folder = folder
        run = self._run(folder)
        run("init", "--quiet", "--bare", "--template=", ".")
        objects = (self._folder / ".git" / "objects").absolute()
        (folder / "objects" / "info" / "alternates").write_text(f"{objects}\n")
        if self._remote_tip(run) is not None:
            self._fetch_into(run, f"refs/heads/{self._branch}")
        return clone

    def committed_objects(self) -> dict[str, str]:
        """Return the git object id of every file of the branch, as last read or pushed. Raises GitError."""
        run = self._run(self._folder)
        if not run("for-each-ref", f"refs/heads/{self._branch}").strip():
            return {}
        listing = run("ls-tree", "-r", "-z", "--full-tree", f"refs/heads/{self._branch}").split("\0")
        entries = (entry.partition("\t") for entry in listing if entry)
        return {path: metadata.split()[2] for metadata, _, path in entries}

    def content(self, object_id: str) -> bytes:
        """Return the bytes of an object from `committed_objects`. Raises GitError."""
        return self._run(self._folder)("cat-file", "blob", object_id).encode()

    def modified_files(self) -> list[str]:
        """Return the files in the working tree that differ from the commit. Raises GitError."""
        if not self.committed_objects():
            return []
        names = self._run(self._folder)("--no-optional-locks", "diff", "--name-only", "--no-renames", "-z", "HEAD")
        return [name for name in names.split("\0") if name]

    def restore(self) -> None:
        """Reset the working tree to the commit. Raises GitError."""
        self._run(self._folder)("reset", "--quiet", "--hard", "HEAD")

    def write(self, files: Mapping[str, tuple[str, bytes]], attached: Attachment | None = None) -> str:
        """Commit files on top of the remote branch, one commit each, push them, and return the new remote commit.

        `files` maps paths to the commit message and our lines. The last commit includes the files of `attached`, which
        may be all there is. If another push comes first, the commits are repeated on top of it, at most five times. A
        push is never forced. Raises GitError, OSError, and what `attached` raises.
        """
        run = self._run(self._folder)
        self._pushed = self._push_directly(run, files, attached) or self._fetch_and_push(run, files, attached)
        return self._pushed

    def _push_directly(
        self, run: GitRun, files: Mapping[str, tuple[str, bytes]], attached: Attachment | None
    ) -> str | None:
        """Push on top of the last push without a fetch. Return None if others have pushed since or it failed."""
        tip, self._pushed = self._pushed, None
        if tip is None:
            return None
        try:
            if self._remote_tip(run) != tip:
                return None
            run("reset", "--quiet", "--hard")
            _clean(run)
            commits = self._commits(files, attached)
            return self._push(run, commits, tip) if commits else tip
        except GitError as error:
            _log.info("a direct push to the index failed; the remote branch is fetched first: %s", error)
            return None

    def _fetch_and_push(self, run: GitRun, files: Mapping[str, tuple[str, bytes]], attached: Attachment | None) -> str:
        for remaining in reversed(range(PUSHES)):
            tip = self._fetch(run, self._folder)
            commits = self._commits(files, attached)
            try:
                return self._push(run, commits, tip) if commits else run("rev-parse", "HEAD^{commit}").strip()
            except GitError as error:
                if not remaining:
                    raise
                _log.info("the index was not pushed; the push is repeated on top of the remote branch: %s", error)
        raise AssertionError

    def _push(self, run: GitRun, commits: Sequence["_Commit"], tip: str | None) -> str:
        """Push commits on top of `tip`, the current commit of the clone. Return the last one. Raises GitError."""
        run("fast-import", "--quiet", "--done", "--date-format=now", stdin=self._stream(commits, tip))
        run("reset", "--quiet", "--hard")
        run("push", "--quiet", "--", self._url, f"HEAD:refs/heads/{self._branch}")
        return run("rev-parse", "--verify", "HEAD^{commit}").strip()

    def _commits(self, files: Mapping[str, tuple[str, bytes]], attached: Attachment | None) -> list["_Commit"]:
        """Return a commit for each file that differs from the remote branch; the last one has the attached files."""
        commits = []
        for path, (message, lines) in files.items():
            before = self.file(path)
            after, skipped = merged(path, lines, before)
            _warn(path, skipped)
            if after != before:
                commits.append(_Commit(message, {path: after}))
        if attached and (also := attached.changed(self.file, has_commits=bool(commits))):
            if not commits:
                commits.append(_Commit("Update the log", {}))
            commits[-1].files.update(also)
        return commits

    def file(self, path: str) -> bytes:
        """Return the bytes of a file of the clone, empty if it is not there. Raises OSError."""
        file = self._folder / path
        if not file.is_file():
            return b""
        with file.open("rb") as opened:
            return opened.read(_MAX_FILE_BYTES)

    def _stream(self, commits: Sequence["_Commit"], tip: str | None) -> bytes:
        """Return the commits as input of `git fast-import`: one process handles all of them."""
        parts = []
        for commit in commits:
            parts.append(f"commit refs/heads/{self._branch}\ncommitter {_COMMITTER} now\n".encode())
            parts.append(_data(commit.message.encode()))
            if tip is not None and commit is commits[0]:
                parts.append(f"from {tip}\n".encode())
            for path, content in commit.files.items():
                parts.append(f"M 100644 inline {path}\n".encode() + _data(content))
        return b"".join((*parts, b"done\n"))


def _config_state(folder: Path) -> tuple[int, ...] | None:
    """Return what changes with the configuration of a clone, None if there is no clone."""
    try:
        status = (folder / ".git" / "config").stat()
    except OSError:
        return None if not os.path.lexists(folder / ".git") else ()
    return status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size


def _clean(run: GitRun) -> None:
    """Remove uncommitted files, which would otherwise count as files of the remote branch."""
    run("clean", "--quiet", "-ffdx", f"--exclude={_VOLUME_FOLDER}")


def _warn(path: str, skipped: Sequence[SkippedLine]) -> None:
    for line in skipped[:_WARNINGS]:
        _log.warning("line %d of %s in the registry index was skipped: %s", line.number, path, line.reason)
    if len(skipped) > _WARNINGS:
        _log.warning("%d more lines of %s in the registry index were skipped", len(skipped) - _WARNINGS, path)


class _Commit(NamedTuple):
    message: str
    files: dict[str, bytes]


def _data(content: bytes) -> bytes:
    return b"data %d\n%b\n" % (len(content), content)
