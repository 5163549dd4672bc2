"""A bucket that refuses, fails, or never answers."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_STATUSES = {"forbidden": 403, "failing": 500}


@contextmanager
def broken_bucket() -> Iterator[str]:
    """Serve a bucket that answers keys that begin with `forbidden` with 403, with `failing` 500, and others never."""
    stopping = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            name = self.path.rpartition("/")[2]
            status = next((code for word, code in _STATUSES.items() if name.startswith(word)), None)
            if status is None:
                stopping.wait(30)
                return
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_PUT = do_HEAD  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads, server.block_on_close = True, False
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        stopping.set()
        server.shutdown()
        server.server_close()
        thread.join()
