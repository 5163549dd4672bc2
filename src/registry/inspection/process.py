"""One child process, seen from the service."""

import socket
import subprocess
import sys
import time
from pathlib import Path

from registry.inspection.messages import LENGTH, Answer, Ready, Request, decode_answer, encode

_START_SECONDS = 60.0
_LARGEST_ANSWER = 64 << 20
_RECEIVE_BYTES = 1 << 16
_PROGRAM = "import sys; sys.path[:] = {path!r}; from registry.inspection.child import main; main({arguments})"


class Process:
    """A child process that answers one request at a time. After a missing answer, call `end`.

    Raises ChildProcessError if it does not start.
    """

    def __init__(self, seconds: float, memory_bytes: int) -> None:
        self._socket, theirs = socket.socketpair()
        self._received = bytearray()
        path = [str(Path(entry).absolute()) for entry in sys.path]
        with theirs:
            program = _PROGRAM.format(path=path, arguments=f"{theirs.fileno()}, {seconds!r}, {memory_bytes!r}")
            self._process = subprocess.Popen(  # noqa: S603 - this interpreter, and our own program
                [sys.executable, "-I", "-c", program],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # so that Ctrl-C reaches the service alone
            )
        try:
            answer = self.receive(_START_SECONDS)
        except (OSError, EOFError):
            answer = None
        if not isinstance(answer, Ready):
            self.end()
            raise ChildProcessError("the process that scans texts and packages does not start")

    def send(self, request: Request, seconds: float) -> None:
        """Send a request. Raises TimeoutError; OSError if the process has ended."""
        self._socket.settimeout(seconds)
        self._socket.sendall(encode(request))

    def receive(self, seconds: float) -> Answer:
        """Return the next answer. Raises TimeoutError; EOFError or OSError if the process has ended."""
        deadline = time.monotonic() + seconds
        (size,) = LENGTH.unpack(self._read(LENGTH.size, deadline))
        if size > _LARGEST_ANSWER:
            raise EOFError
        return decode_answer(self._read(size, deadline))

    def _read(self, size: int, deadline: float) -> bytes:
        while len(self._received) < size:
            self._socket.settimeout(max(deadline - time.monotonic(), 1e-3))
            part = self._socket.recv(_RECEIVE_BYTES)
            if not part:
                raise EOFError
            self._received += part
        data = bytes(self._received[:size])
        del self._received[:size]
        return data

    def kill(self) -> None:
        """Kill the process, from any thread. A waiting `receive` raises EOFError or OSError."""
        self._process.kill()

    def end(self) -> None:
        """Kill the process and release its resources."""
        self.kill()
        self._process.wait()
        self._socket.close()
        if self._process.stdin is not None:
            self._process.stdin.close()
