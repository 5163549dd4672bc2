"""Worker processes that share the listening sockets. A worker that dies is restarted."""

import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from types import FrameType
from typing import NamedTuple

from registry.config.groups import LimitsSettings
from registry.runtime.stop_signals import STOP_SIGNALS
from registry.server.http_server import START_FAILED, Site, serve
from registry.server.sockets import Listener

_log = logging.getLogger("registry.server")

_RESTART_SECONDS = 1.0
_SIGNALS_PASSED_ON = 2


class _Worker(NamedTuple):
    process: BaseProcess
    started: float


def serve_workers(make_site: Callable[[int], Site], count: int, listener: Listener, limits: LimitsSettings) -> int:
    """Serve with `count` processes until the stop signal; return the exit code, 0 if all have drained.

    Args:
        make_site: Called in each worker with its number, from 0. It is pickled by name, so it must be a function of a
            module or a `functools.partial` of one. It also configures the logging of the worker.
        count: The number of workers.
        listener: Listening sockets.
        limits: As for `serve`.
    """
    return _Supervisor(make_site, listener, limits).run(count)


class _Supervisor:
    def __init__(self, make_site: Callable[[int], Site], listener: Listener, limits: LimitsSettings) -> None:
        self._make_site = make_site
        self._listener = listener
        self._limits = limits
        self._workers: dict[int, _Worker] = {}
        self._stopping = False
        self._signals = 0
        self._exit_code = 0

    def run(self, count: int) -> int:
        for number in STOP_SIGNALS:
            signal.signal(number, self._on_signal)
        for index in range(count):
            self._start(index, announce=index == 0)
        while self._workers:
            wait([worker.process.sentinel for worker in self._workers.values()])
            for index, worker in list(self._workers.items()):
                if not worker.process.is_alive():
                    self._ended(index, worker)
        for number in STOP_SIGNALS:
            signal.signal(number, signal.SIG_IGN)  # all is done; the exit code stands
        return self._exit_code

    def _start(self, index: int, *, announce: bool) -> None:
        arguments = (self._make_site, index, self._listener, self._limits, announce)
        process = multiprocessing.get_context("spawn").Process(target=_work, args=arguments)
        process.start()
        self._workers[index] = _Worker(process, time.monotonic())
        if self._stopping:
            process.terminate()

    def _ended(self, index: int, worker: _Worker) -> None:
        del self._workers[index]
        code = worker.process.exitcode or 0
        if self._stopping:
            self._exit_code = max(self._exit_code, code)
        elif code == START_FAILED:
            _log.error("Worker %d did not start", index)
            self._exit_code = START_FAILED
            self._stop()
        else:
            _log.warning("Worker %d ended with code %d and is started again", index, code)
            # A worker that dies at once must not be restarted in a tight loop.
            time.sleep(max(0.0, worker.started + _RESTART_SECONDS - time.monotonic()))
            if not self._stopping:
                self._start(index, announce=False)

    def _stop(self) -> None:
        self._stopping = True
        for worker in self._workers.values():
            worker.process.terminate()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        # A second signal goes to the workers too: each gives up its requests in flight, if it has any. A third kills.
        self._signals += 1
        if self._signals <= _SIGNALS_PASSED_ON:
            self._stop()
        else:
            for worker in self._workers.values():
                worker.process.kill()


def _work(
    make_site: Callable[[int], Site], index: int, listener: Listener, limits: LimitsSettings, announce: bool
) -> None:
    # Ctrl-C reaches every process of the terminal; the supervisor alone acts on it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_stop_with_parent, daemon=True).start()
    signals = (signal.SIGTERM,)
    raise SystemExit(serve(make_site(index), listener, limits, signals=signals, announce=announce))


def _stop_with_parent() -> None:
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
