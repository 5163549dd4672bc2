"""Starts Python scripts as processes of their own by forking, so that their imports are paid for once.

Run as a script by `support.processes`, which sends requests over a socket. The process has one thread and does nothing
but import and fork: each child has its own memory, environment, folder, files and signals, and runs the script as
`__main__`.
"""

import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import runpy
import signal
import socket
import struct
import sys
import threading
from pathlib import Path
from typing import Any, NoReturn

_PACKAGES = ("registry", "search")
_LOADED_LATE = ("boto3",)
"""What the packages import inside functions. Not onnxruntime, which starts a thread."""

NUMBER = struct.Struct("i")


class Spawner:
    """Forks for each request until the other end of the socket is closed.

    A request is five descriptors: a file with the command, environment and folder as JSON, a pipe for the answers, and
    the three standard streams. The answers are the number of the process, and its exit code once it has ended.
    """

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._answers: dict[int, int] = {}

    def serve(self) -> dict[str, Any] | None:
        """Serve requests; return the request in the child that is to run it, None when there are no more."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the tests, and they end this
        signal.signal(signal.SIGCHLD, self._reap)
        while descriptors := socket.recv_fds(self._control, 1, 5)[1]:
            request, answers, *streams = descriptors
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
            if (pid := os.fork()) == 0:
                return self._become(request, answers, streams)
            self._answers[pid] = answers
            os.write(answers, NUMBER.pack(pid))
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
            for descriptor in (request, *streams):
                os.close(descriptor)
        return None

    def _reap(self, *_: object) -> None:
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                pipe = self._answers.pop(ended[0])
                with contextlib.suppress(BrokenPipeError):
                    os.write(pipe, NUMBER.pack(os.waitstatus_to_exitcode(ended[1])))
                os.close(pipe)

    def _become(self, request: int, answers: int, streams: list[int]) -> dict[str, Any]:
        """Leave behind what belongs to the parent."""
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
        with os.fdopen(request, encoding="utf-8") as file:
            asked: dict[str, Any] = json.load(file)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        self._control.close()
        for descriptor in (answers, *self._answers.values(), *streams):
            os.close(descriptor)
        return asked


def preload() -> None:
    """Import what the scripts will import."""
    importlib.import_module("registry.__main__")  # it must come before numpy
    for name in _PACKAGES:
        for module in pkgutil.walk_packages(importlib.import_module(name).__path__, f"{name}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    for name in _LOADED_LATE:
        importlib.import_module(name)
    importlib.import_module("registry.runtime.event_loop").refuse_waiting()
    assert len(list(Path("/proc/self/task").iterdir())) == 1, "a process with several threads cannot be forked safely"
    gc.freeze()  # a collection in a child would otherwise write to, and so copy, the memory it shares


def run(asked: dict[str, Any]) -> None:
    """Run a script as the interpreter would."""
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    sys.argv = asked["command"]
    sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
    sys.stdin = os.fdopen(0, encoding="utf-8", errors="surrogateescape")
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="surrogateescape")
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1)
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise
        _exit(end.code or 0)


def _exit(code: int) -> NoReturn:
    """End like the interpreter, but leave the modules: to tear them down copies the memory they share, for 50 ms."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def main() -> None:
    """Preload, then serve the socket whose descriptor is the argument."""
    preload()
    with socket.socket(fileno=int(sys.argv[1])) as control:
        asked = Spawner(control).serve()
    if asked is not None:
        run(asked)


if __name__ == "__main__":
    main()
