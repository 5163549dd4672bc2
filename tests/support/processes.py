"""Python scripts as processes of their own, forked from one that has their imports (`support.spawner`).

Most of the CPU time of a short command, or of a server's start, is its imports: 0.4 s and more. `TEST_PROCESSES=exec`
starts a new interpreter for each instead, and so does what the spawner cannot do: variables that only a new interpreter
reads, and systems other than Linux.
"""

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Mapping, Sequence
from multiprocessing.connection import wait
from pathlib import Path
from typing import IO, Protocol

from support.spawner import NUMBER

_SPAWNER = Path(__file__).with_name("spawner.py")
_FORKS = sys.platform == "linux" and os.environ.get("TEST_PROCESSES", "fork") == "fork"
_INTERPRETER = ("PYTHON", "LANG", "LC_")
"""How the variables begin that an interpreter reads when it starts."""


class Process(Protocol):
    """What `subprocess.Popen` and `ForkedProcess` have in common."""

    @property
    def pid(self) -> int: ...

    @property
    def returncode(self) -> int | None: ...

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...

    def send_signal(self, sig: int) -> None: ...

    def kill(self) -> None: ...


class ForkedProcess:
    """A process of the spawner; the methods are those of `subprocess.Popen`."""

    def __init__(self, command: Sequence[str], answers: int) -> None:
        self.args = command
        self.returncode: int | None = None
        self._answers = answers
        self._lock = threading.Lock()
        weakref.finalize(self, os.close, answers)
        self.pid = self._number()

    def _number(self) -> int:
        """Return the spawner's next answer. Raises ChildProcessError where the spawner has ended."""
        if len(data := os.read(self._answers, NUMBER.size)) != NUMBER.size:
            raise ChildProcessError("the spawner has ended")
        return int(NUMBER.unpack(data)[0])

    def poll(self) -> int | None:
        """Return the exit code, None while the process runs."""
        return self._wait(0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit code. Raises subprocess.TimeoutExpired."""
        if (code := self._wait(timeout)) is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return code

    def _wait(self, seconds: float | None) -> int | None:
        if self.returncode is None and wait([self._answers], seconds):
            with self._lock:
                if self.returncode is None:
                    self.returncode = self._number()
        return self.returncode

    def send_signal(self, sig: int) -> None:
        """Send a signal unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, sig)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)


class _Spawner:
    """The spawner, started when it is first needed and ended with this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._control: socket.socket | None = None

    def start(self, command: Sequence[str], cwd: Path, env: Mapping[str, str], streams: Sequence[int]) -> ForkedProcess:
        """Start a process with these standard streams."""
        read, write = os.pipe()
        with tempfile.TemporaryFile() as request:
            request.write(json.dumps({"command": list(command), "cwd": str(cwd), "env": dict(env)}).encode())
            request.seek(0)
            socket.send_fds(self._socket(), [b"x"], [request.fileno(), write, *streams])
        os.close(write)
        return ForkedProcess(command, read)

    def _socket(self) -> socket.socket:
        with self._lock:
            if self._control is None:
                self._control, other = socket.socketpair()
                command = [sys.executable, str(_SPAWNER), str(other.fileno())]
                process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[other.fileno()])
                other.close()
                atexit.register(self._end, process)
            return self._control

    def _end(self, process: "subprocess.Popen[bytes]") -> None:
        assert self._control is not None
        self._control.close()
        process.wait()


_spawner = _Spawner()


def start(
    command: Sequence[str],
    env: Mapping[str, str],
    cwd: Path | None = None,
    *,
    stdin: int | None = None,
    stdout: int = 1,
    stderr: int = 2,
) -> Process:
    """Start the Python script `command[0]` with its arguments; nothing is read where stdin is None."""
    changed = [name for name in env if name.startswith(_INTERPRETER) and env[name] != os.environ.get(name)]
    with Path(os.devnull).open("rb") as null:
        streams = (null.fileno() if stdin is None else stdin, stdout, stderr)
        if _FORKS and not changed:
            return _spawner.start(command, cwd or Path.cwd(), env, streams)
        words = [sys.executable, *command]
        return subprocess.Popen(words, env=dict(env), cwd=cwd, stdin=streams[0], stdout=stdout, stderr=stderr)


class Finished:
    """A script that has ended: its exit code and what it has printed."""

    def __init__(
        self, command: Sequence[str], env: Mapping[str, str], cwd: Path, *, stdin: str = "", seconds: float = 300
    ) -> None:
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
            given.write(stdin.encode())
            given.seek(0)
            streams = {"stdin": given.fileno(), "stdout": out.fileno(), "stderr": error.fileno()}
            process = start(command, env, cwd, **streams)
            try:
                self.code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise
            self.out, self.error = _text(out), _text(error)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()
