"""The git command as a user without any settings has it."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from support.git_server import _BLANK


class GitClient:
    """Runs git in `folder`, which is also its home: what it is told to remember stays there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._env = _BLANK | {"HOME": str(folder), "GIT_TERMINAL_PROMPT": "0"}
        self._env |= {"GIT_CONFIG_GLOBAL": str(folder / ".gitconfig")}

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run git, whatever becomes of it."""
        return subprocess.run(
            ["git", *arguments], cwd=self.folder, env=self._env, capture_output=True, text=True, check=False
        )

    def __call__(self, *arguments: str) -> str:
        """Run git and return what it prints."""
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def refusal(self, *arguments: str) -> str:
        """Run git, which must fail, and return what it says."""
        done = self.run(*arguments)
        assert done.returncode != 0, done.stdout
        return done.stderr

    def remember(self, url: str, password: str) -> None:
        """Put a password for a server into the credential store."""
        self("config", "--global", "credential.helper", "store")
        parts = urlsplit(url)
        (self.folder / ".git-credentials").write_text(f"{parts.scheme}://anybody:{password}@{parts.netloc}\n")

    def clone(self, url: str, name: str, *options: str) -> Path:
        """Clone a repository into a folder, and check all of its objects."""
        self("clone", "--quiet", *options, url, name)
        self("-C", name, "fsck", "--strict")
        return self.folder / name

    def head(self, name: str) -> str:
        """Return the commit of a clone."""
        return self("-C", name, "rev-parse", "HEAD")


def files_in(folder: Path) -> Mapping[str, tuple[bytes, bool]]:
    """Return the bytes of each file of a clone and whether it is executable, by path."""
    paths = (path for path in folder.rglob("*") if path.is_file() and ".git" not in path.relative_to(folder).parts)
    return {
        path.relative_to(folder).as_posix(): (path.read_bytes(), bool(path.stat().st_mode & 0o111)) for path in paths
    }
