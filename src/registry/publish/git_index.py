"""The registry index as a git repository: one file `<scope>/<name>` a skill, made from the catalog, never replayed.

The operator names the repository, so that its transport and address are not checked as a stranger's are: `file`,
`http`, `https` and `ssh` are spoken. Nothing in it is executed: hooks, filters, links and submodules stay switched off.
"""

import copy
import logging
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from registry.outbound import parse_url
from registry.outbound.git import SAFE_CONFIG, GitError, GitRun, authorization_config
from registry.publish.index_lines import LeftOut, merged
from registry.runtime.atomic_files import TEMPORARY_PREFIX, temporary_path

_log = logging.getLogger("registry.publish")

PUSHES = 5
"""How often a change is put on top of what others have pushed, at most, before it waits for the next round."""

_OF_THE_VOLUME = "lost+found"
"""What a file system puts into its own root."""

_MAX_FILE_BYTES = 8 << 20
_WARNINGS = 20
"""Lines of one file that are warned of one by one."""

_WRITING: Mapping[str, str] = {
    **SAFE_CONFIG,
    "protocol.file.allow": "always",
    "protocol.ssh.allow": "always",
    "push.default": "nothing",
    "gc.auto": "2000",
    "gc.autoDetach": "false",
}

_COMMITTER = "skill-registry <skill-registry@localhost>"


class AttachedFile(NamedTuple):
    """A file that is written whole with a change; `content` returns what it is by then."""

    path: str
    content: Callable[[], bytes]


class GitIndex:
    """A clone of the index at `folder`. What is in it can be made anew from the catalog and the remote.

    Args:
        url: The repository, perhaps with user and password, or a folder of this machine.
        branch: The branch that is read and pushed.
        folder: Where the clone lies; an empty folder, or none, is filled by `prepare`.
        seconds: How long one round with the remote may take.
        limit: How many bytes the clone may have.
    """

    def __init__(self, url: str, branch: str, folder: Path, *, seconds: float, limit: int) -> None:
        self._branch = branch
        self._folder = folder
        self._seconds = seconds
        self._limit = limit
        self._pushed: str | None = None
        self._url, self._settings = url, dict(_WRITING)
        if ":" not in url:  # a folder of this machine; git runs in another one
            self._url = str(Path(url).absolute())
        elif url.startswith(("http://", "https://")):
            target = parse_url(url)
            self._url = str(target.url)
            self._settings |= authorization_config(target)

    def prepare(self) -> None:
        """Clone the index where the folder is empty or missing; a folder that is filled must be a clone.

        Raises GitError; nothing half-made is left then.
        """
        if (self._folder / ".git").is_dir():
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        for left in self._folder.glob(f"{TEMPORARY_PREFIX}*"):
            shutil.rmtree(left, ignore_errors=True)
        if any(path.name != _OF_THE_VOLUME for path in self._folder.iterdir()):
            raise GitError(f"the folder {self._folder.name} of the registry index holds something else than its clone")
        # Within the folder, which may be a volume of its own that nothing can be renamed to.
        fresh = temporary_path(self._folder, "index-")
        fresh.mkdir()
        try:
            run = self._run(fresh)
            run("init", "--quiet", "--template=", ".")
            tip = self._fetch(run, fresh)
            (fresh / ".git").replace(self._folder / ".git")
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
        if tip is not None:
            self._run(self._folder)("reset", "--quiet", "--hard")

    def _run(self, folder: Path) -> GitRun:
        return GitRun(self._url, self._settings, folder, self._seconds, self._limit)

    def _fetch(self, run: GitRun, folder: Path) -> str | None:
        """Make the clone what the remote's branch is now, and return its commit; None where there is none yet."""
        branch = f"refs/heads/{self._branch}"
        for pattern in ("*.lock", "refs/**/*.lock", "objects/pack/tmp_*"):
            for left in (folder / ".git").glob(pattern):  # of a git that was killed: nobody else runs one here
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
        """Fetch what the remote's branch is at, and have a ref point to it."""
        refs = f"+refs/heads/{self._branch}:{ref}"
        run("fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--", self._url, refs)

    def _remote_tip(self, run: GitRun) -> str | None:
        """Return the commit the remote's branch is at, None where there is none yet."""
        told = run("ls-remote", "--heads", "--", self._url, f"refs/heads/{self._branch}")
        return told.split()[0] if told.strip() else None

    def read(self) -> str | None:
        """Take over what the remote has; return its commit, None where it has none. Raises GitError, OSError.

        What git keeps of every change in a file of its own is packed now and then.
        """
        run = self._run(self._folder)
        self._pushed = self._fetch(run, self._folder)
        run("gc", "--auto", "--quiet")
        return self._pushed

    def holds(self, commit: str) -> bool:
        """Return whether the remote's branch, as last read, still contains a commit. Raises GitError."""
        run = self._run(self._folder)
        try:
            return run("merge-base", commit, "HEAD").strip() == commit
        except GitError:
            return False

    def is_cloned(self) -> bool:
        """Return whether the clone is there."""
        return (self._folder / ".git").is_dir()

    def of_remote_now(self, folder: Path) -> "GitIndex":
        """Return a clone without files, made in an empty folder, of what the remote has now. Raises GitError, OSError.

        This one lends it what it has and stays as it is, so that another process may push from it meanwhile.
        """
        made = copy.copy(self)
        made._folder = folder
        run = self._run(folder)
        run("init", "--quiet", "--bare", "--template=", ".")
        lent = (self._folder / ".git" / "objects").absolute()
        (folder / "objects" / "info" / "alternates").write_text(f"{lent}\n")
        if self._remote_tip(run) is not None:
            self._fetch_into(run, f"refs/heads/{self._branch}")
        return made

    def committed(self) -> dict[str, str]:
        """Return the git object of every file of the branch, as last read or pushed. Raises GitError."""
        run = self._run(self._folder)
        if not run("for-each-ref", f"refs/heads/{self._branch}").strip():
            return {}
        listing = run("ls-tree", "-r", "-z", "--full-tree", f"refs/heads/{self._branch}").split("\0")
        entries = (entry.partition("\t") for entry in listing if entry)
        return {path: about.split()[2] for about, _, path in entries}

    def content(self, found: str) -> bytes:
        """Return the bytes of a git object that `committed` named. Raises GitError."""
        return self._run(self._folder)("cat-file", "blob", found).encode()

    def edited(self) -> list[str]:
        """Return the files in the clone's folder that are not what is committed. Raises GitError."""
        if not self.committed():
            return []
        names = self._run(self._folder)("--no-optional-locks", "diff", "--name-only", "--no-renames", "-z", "HEAD")
        return [name for name in names.split("\0") if name]

    def restore(self) -> None:
        """Make the files in the clone's folder what is committed. Raises GitError."""
        self._run(self._folder)("reset", "--quiet", "--hard", "HEAD")

    def write(self, files: Mapping[str, tuple[str, bytes]], attached: AttachedFile | None = None) -> str:
        """Put files on top of what the remote has, a commit each, push, and return the commit the remote now has.

        `files` maps a path to the commit's message and our lines; what is `attached` goes into the last of the commits,
        if there are any. A push that comes too late is made anew on top of the other one, five times at most, and none
        is ever forced. Raises GitError, OSError.
        """
        run = self._run(self._folder)
        self._pushed = self._put_at_once(run, files, attached) or self._put_on_top(run, files, attached)
        return self._pushed

    def _put_at_once(
        self, run: GitRun, files: Mapping[str, tuple[str, bytes]], attached: AttachedFile | None
    ) -> str | None:
        """Push on top of the last push; return None where others have pushed since and theirs must be fetched first."""
        tip, self._pushed = self._pushed, None
        if tip is None:
            return None
        try:
            if self._remote_tip(run) != tip:
                return None
            run("reset", "--quiet", "--hard")
            _clean(run)
            commits = self._commits(files, attached)
            return self._put(run, commits, tip) if commits else tip
        except GitError as error:
            _log.info("what the remote of the index has is fetched first: %s", error)
            return None

    def _put_on_top(self, run: GitRun, files: Mapping[str, tuple[str, bytes]], attached: AttachedFile | None) -> str:
        for left in reversed(range(PUSHES)):
            tip = self._fetch(run, self._folder)
            commits = self._commits(files, attached)
            try:
                return self._put(run, commits, tip) if commits else run("rev-parse", "HEAD^{commit}").strip()
            except GitError as error:
                if not left:
                    raise
                _log.info("the index was not taken and is put on top of what is there now: %s", error)
        raise AssertionError

    def _put(self, run: GitRun, commits: Sequence["_Commit"], tip: str | None) -> str:
        """Push commits on top of `tip`, where the clone is; return the last of them. Raises GitError."""
        run("fast-import", "--quiet", "--done", "--date-format=now", stdin=self._stream(commits, tip))
        run("reset", "--quiet", "--hard")
        run("push", "--quiet", "--", self._url, f"HEAD:refs/heads/{self._branch}")
        return run("rev-parse", "--verify", "HEAD^{commit}").strip()

    def _commits(self, files: Mapping[str, tuple[str, bytes]], attached: AttachedFile | None) -> list["_Commit"]:
        """Return a commit for each file that is to be another one than the remote has."""
        commits = []
        for path, (message, lines) in files.items():
            before = self._content(path)
            after, left_out = merged(path, lines, before)
            _warn(path, left_out)
            if after != before:
                commits.append(_Commit(message, {path: after}))
        if commits and attached:
            commits[-1].files[attached.path] = attached.content()
        return commits

    def _content(self, path: str) -> bytes:
        file = self._folder / path
        if not file.is_file():
            return b""
        with file.open("rb") as opened:
            return opened.read(_MAX_FILE_BYTES)

    def _stream(self, commits: Sequence["_Commit"], tip: str | None) -> bytes:
        """Return the commits as `git fast-import` reads them: one process for them all, however many there are."""
        parts = []
        for commit in commits:
            parts.append(f"commit refs/heads/{self._branch}\ncommitter {_COMMITTER} now\n".encode())
            parts.append(_data(commit.message.encode()))
            if tip is not None and commit is commits[0]:
                parts.append(f"from {tip}\n".encode())
            for path, content in commit.files.items():
                parts.append(f"M 100644 inline {path}\n".encode() + _data(content))
        return b"".join((*parts, b"done\n"))


def _clean(run: GitRun) -> None:
    """Remove what is not committed: a file of that kind would be taken for one that the remote has."""
    run("clean", "--quiet", "-ffdx", f"--exclude={_OF_THE_VOLUME}")


def _warn(path: str, left_out: Sequence[LeftOut]) -> None:
    for line in left_out[:_WARNINGS]:
        _log.warning("line %d of %s in the registry index is left out: %s", line.number, path, line.reason)
    if len(left_out) > _WARNINGS:
        _log.warning("%d more lines of %s in the registry index are left out", len(left_out) - _WARNINGS, path)


class _Commit(NamedTuple):
    message: str
    files: dict[str, bytes]


def _data(content: bytes) -> bytes:
    return b"data %d\n%b\n" % (len(content), content)
