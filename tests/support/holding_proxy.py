"""A network that fails without saying so: a proxy of TCP connections that holds all bytes back, or cuts connections."""

import contextlib
import selectors
import socket
import threading
from types import TracebackType
from typing import Self

_CHUNK = 65_536


class HoldingProxy:
    """Passes the bytes of connections to `host` and `port` on. While it holds, it accepts connections and passes none.

    The held bytes arrive after `release`, as those of packets that a network sends again.
    """

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._passing = threading.Event()
        self._passing.set()
        self._ended = threading.Event()
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()
        return self

    def hold(self) -> None:
        """Hold all bytes back from now on."""
        self._passing.clear()

    def release(self) -> None:
        """Pass everything on again."""
        self._passing.set()

    def cut(self) -> None:
        """Close all connections at once, in the middle of whatever they carry."""
        for one in self._sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self._sockets.clear()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                caller, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(caller,), daemon=True).start()

    def _serve(self, caller: socket.socket) -> None:
        self._passing.wait()
        with contextlib.suppress(OSError), caller, socket.create_connection(self._target) as server:
            self._sockets += [caller, server]
            ends = {caller: server, server: caller}
            with selectors.DefaultSelector() as ready:
                for end in ends:
                    ready.register(end, selectors.EVENT_READ)
                while not self._ended.is_set():
                    for key, _ in ready.select(0.5):
                        source: socket.socket = key.fileobj  # type: ignore[assignment]
                        if not (data := source.recv(_CHUNK)):
                            return
                        self._passing.wait()
                        ends[source].sendall(data)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self.release()
        self.cut()
        self._listener.close()
