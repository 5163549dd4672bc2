"""Runs clients: with a home of their own, no account, no model, and nothing of the caller's environment."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from clients.installing import folder_of, node
from clients.table import CLIENTS

SECONDS = 300


class Box:
    """A client with an empty home and project. `printed` is all that its last run has printed."""

    def __init__(self, name: str, home: Path) -> None:
        self.client = next(client for client in CLIENTS if client.name == name)
        self._folder = folder_of(self.client)
        self.home = home
        self.project = home / "project"
        self.printed = ""
        self.project.mkdir(parents=True)
        (home / "tmp").mkdir()

    def run(self, *arguments: str, env: Mapping[str, str] | None = None, code: int | None = 0, stdin: str = "") -> str:
        """Run the client and return its standard output. It must end with `code`, unless that is None."""
        command = [str(self.program), *arguments]
        done = subprocess.run(
            command, cwd=self.project, env={**self.environment(), **(env or {})}, input=stdin, text=True,
            capture_output=True, timeout=SECONDS, check=False,
        )  # fmt: skip
        self.printed = f"{done.stdout}\n{done.stderr}"
        assert code is None or done.returncode == code, f"{command} ended with {done.returncode}:\n{self.printed}"
        return done.stdout

    def store_for_git(self, url: str, token: str) -> None:
        """Put the token for a service into git's credential store."""
        scheme, host = url.split("//")
        (self.home / ".gitconfig").write_text("[credential]\n\thelper = store\n")
        (self.home / ".git-credentials").write_text(f"{scheme}//reader:{token}@{host}\n")

    @property
    def program(self) -> Path:
        """The program of the client."""
        if self.client.kind != "npm":
            return self._folder / "bin" / (self.client.program or self.client.package)
        modules = self._folder / "node_modules"
        return next(modules.glob(self.client.program or f".bin/{self.client.package}"))

    def environment(self) -> dict[str, str]:
        """Return the environment: nobody's account, settings, cache or proxy."""
        path = [str(node(self.client.node).parent)] if self.client.kind == "npm" else []
        path += [str(Path(sys.executable).parent), *os.defpath.split(os.pathsep)]
        folders = {
            name: str(self.home / folder)
            for name, folder in (
                ("XDG_CONFIG_HOME", ".config"),
                ("XDG_CACHE_HOME", ".cache"),
                ("XDG_DATA_HOME", ".local/share"),
                ("XDG_STATE_HOME", ".local/state"),
            )
        }
        quiet = {"LANG": "C.UTF-8", "CI": "1", "NO_COLOR": "1", "DO_NOT_TRACK": "1", "DISABLE_TELEMETRY": "1"}
        return {"HOME": str(self.home), "PATH": os.pathsep.join(path), "TMPDIR": f"{self.home}/tmp", **folders, **quiet}


def files_below(folder: Path) -> dict[str, bytes]:
    """Return the files of an installed skill by path."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def installed(home: Path, name: str) -> list[Path]:
    """Return the folders with the name of a skill below a home that have its SKILL.md."""
    return sorted({path.parent.resolve() for path in home.rglob(f"{name}/SKILL.md")})
