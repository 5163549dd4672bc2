"""The real command, run to its end or killed before it."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from registry.cli.main import main
from support.killing import Steps, waiting
from support.processes import Finished
from support.servers import COMMAND, NO_CACHE

WORDS_ONLY = {"SKILL_REGISTRY_EMBEDDING_PROVIDER": "none"}


class Done:
    """One finished command. The logins of the person who tests are not seen: `folder` holds the configuration."""

    def __init__(self, folder: Path, *args: str, stdin: str = "", **env: str) -> None:
        done = Finished([COMMAND, *args], _environment(folder, env), folder, stdin=stdin)
        self.code, self.out, self.error = done.code, done.out, done.error

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def complains(self, code: int, *words: str) -> None:
        """Assert that it failed with one line that says these words."""
        assert self.code == code, self.error
        assert self.out == ""
        assert self.error.count("\n") == 1, self.error
        assert self.error.startswith("skill-registry: ")
        for word in words:
            assert word in self.error


def add_user(data_dir: Path) -> None:
    """Add the user acme/ann to a registry: a manager, with the password `correct horse`."""
    command = ("users", "add", "acme/ann", "--role", "manager", "--password-stdin", "--data-dir", str(data_dir))
    added = Done(data_dir, *command, stdin="correct horse\n")
    assert added.code == 0, added.error


def command_named(name: str) -> click.Command:
    """Return the command of a full name, such as `admin keys`."""
    command: click.Command | None = main
    for word in name.split():
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), word)
    assert command is not None
    return command


def steps(folder: Path, *args: str, kill_at: int | None = None, env: Mapping[str, str] | None = None) -> int:
    """Run a command, killed after a step if that is given, and return how many steps it took."""
    process = waiting([COMMAND, *args], _environment(folder, env or {}))
    with Steps(process, kill_at, pause=0.1) as followed:
        process.communicate(b"go\n")
    return len(followed.taken)


def exit_without_space(kilobytes: int, folder: Path, *args: str, **env: str) -> tuple[int, str]:
    """Run a command that can write no larger file, as on a disk without space; return its exit code and its errors."""
    line = ["sh", "-c", f'ulimit -f {2 * kilobytes}; exec "$@"', "sh", COMMAND, *args]
    done = subprocess.run(line, capture_output=True, env=_environment(folder, env), cwd=folder, text=True, check=False)
    return done.returncode, done.stderr


def _environment(folder: Path, env: Mapping[str, str]) -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI", "SKILL_"))}
    return {**plain, "XDG_CONFIG_HOME": str(folder / "config"), **WORDS_ONLY, **NO_CACHE, **env}
