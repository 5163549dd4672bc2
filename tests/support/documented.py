"""The commands of the documentation: read from its pages, and run as a reader would."""

import contextlib
import os
import re
import shlex
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import httpx

from support.ports import free_port
from support.terminal import on_terminal, plain
from support.waiting import PATIENCE_SECONDS, wait_until

_BLOCK = re.compile(r"^```(sh|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SERVER = re.compile(r"make (serve|registry)\b|\S*skill-registry serve\b")
_PORT = "8080"
_SECONDS = 300

_VARYING = (
    (r'"(score|took_ms)":[\d.]+', r'"\1":0'),
    (r"\b\d\.\d\d(?= \w+  )", "0"),
    (r"search, [\d.]+ ms", "search, 0 ms"),
)
"""What no two runs print alike: scores and times."""


class Command(NamedTuple):
    """A command; `output` is what the page says it prints, None where the page does not say."""

    text: str
    output: str | None = None

    @property
    def starts_server(self) -> bool:
        """Whether it serves until it is stopped."""
        return _SERVER.match(self.text) is not None


class Block(NamedTuple):
    """The commands of an `sh` or `console` block of a page."""

    page: str
    commands: tuple[Command, ...]

    @property
    def name(self) -> str:
        """The page and the first command."""
        return f"{self.page}: {self.commands[0].text.splitlines()[0]}"


def blocks(page: str, text: str) -> Iterator[Block]:
    """Yield the blocks of a page that hold commands, in order."""
    for kind, block in _BLOCK.findall(text):
        yield Block(page, tuple(_console(block) if kind == "console" else _script(block)))


def _script(block: str) -> Iterator[Command]:
    for text, _ in _split(block.splitlines(keepends=True)):
        yield Command(text)


def _console(block: str) -> Iterator[Command]:
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        lines = part.splitlines(keepends=True)
        text, used = next(_split(lines))
        yield Command(text, "".join(lines[used:]))


def _split(lines: list[str]) -> Iterator[tuple[str, int]]:
    """Yield each command, which goes on while a quote is open or a line ends in a backslash, and where it ends."""
    command = ""
    for number, line in enumerate(lines, 1):
        command += line
        try:
            words = shlex.split(command, comments=True)
        except ValueError:
            continue
        if command.endswith("\\\n"):
            continue
        if words:
            yield command.strip(), number
        command = ""


def agrees(printed: str, documented: str) -> bool:
    """Return whether an output is as documented, but for line breaks, scores, times, and what `…` stands for."""
    parts = (re.escape(part) for part in _bare(documented).split("…"))
    return re.fullmatch(".*".join(parts), _bare(printed)) is not None


def _bare(text: str) -> str:
    for pattern, same in _VARYING:
        text = re.sub(pattern, same, text, flags=re.MULTILINE)
    return "".join(text.split())


class Reader:
    """A user with a shell in `folder` and a home of their own, who runs one command after the other.

    A server runs beside the other commands, until the next one is started. `stand_ins` are for what this machine does
    not have, such as the folders of an operator.
    """

    def __init__(self, folder: Path, home: Path, stand_ins: Mapping[str, str], **env: str) -> None:
        self._port = str(free_port())
        self.stand_ins = {f"localhost:{_PORT}": f"localhost:{self._port}", **stand_ins}
        home.mkdir(exist_ok=True)
        self._log = home / "servers.log"
        self._state = home / "state"
        self._folder = folder
        self._env = {
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "COLUMNS": "110",
            "SKILL_REGISTRY_SERVER_PORT": self._port,
            **env,
        }
        self._server: subprocess.Popen[bytes] | None = None

    def run(self, command: Command) -> None:
        """Run a command. Fails if it fails, or does not print what the page says."""
        text = self._here(command.text)
        if command.starts_server:
            self._serve(text)
            return
        script = f'{text}\ncode=$?\n{{ pwd; env -0; }} >"{self._state}"\nexit $code\n'
        shell = ["sh", "-c", script]
        if command.output is not None and "skill-registry" in text:  # which prints otherwise in a pipe
            code, screen = on_terminal(shell, self._folder, self._env, int(self._env["COLUMNS"]))
            printed = told = plain(screen)
        else:
            code, printed, errors = self._output(shell)
            told = f"{command.text}\n{printed}{errors}"
        assert code == 0 or command.output is not None, told
        if command.output is not None:
            assert agrees(printed, self._here(command.output)), f"{told}\ninstead of\n{command.output}"
        folder, _, env = self._state.read_text().partition("\n")
        self._folder = Path(folder)
        self._env = dict(variable.split("=", 1) for variable in env.split("\0") if variable)

    def _output(self, shell: list[str]) -> tuple[int, str, str]:
        done = subprocess.run(
            shell,
            cwd=self._folder,
            env=self._env,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    def stop(self) -> None:
        """Stop the server, as Ctrl-C does."""
        if self._server is not None:
            os.killpg(self._server.pid, signal.SIGINT)
            try:
                self._server.wait(PATIENCE_SECONDS)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._server.pid, signal.SIGKILL)
                self._server = None

    def _here(self, text: str) -> str:
        for name, stand_in in self.stand_ins.items():
            text = text.replace(name, stand_in)
        return text

    def _serve(self, command: str) -> None:
        self.stop()
        with self._log.open("ab") as log:
            self._server = subprocess.Popen(
                ["sh", "-c", command], cwd=self._folder, env=self._env, stdout=log, stderr=log, start_new_session=True
            )
        wait_until(self._is_ready, why=self._log.read_text)

    def _is_ready(self) -> bool:
        """Return whether the server answers and has embedded all skills."""
        assert self._server is not None
        assert self._server.poll() is None, self._log.read_text()
        try:
            status = httpx.get(f"http://localhost:{self._port}/api/v1/status", trust_env=False).json()["data"]
        except (httpx.HTTPError, ValueError, KeyError):
            return False
        return bool(status["status"] == "ok" and not status["pending"])
