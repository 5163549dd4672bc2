"""Answers slower than anybody waits, for the servers of the tests: `request.owner.stopping` ends them."""

from typing import Any


def silence(request: Any) -> None:
    """Never answer."""
    request.owner.stopping.wait()


def drip(request: Any) -> None:
    """Promise a large answer and send it a byte at a time."""
    request.send_response(200)
    request.send_header("Content-Length", "100000")
    request.end_headers()
    while not request.owner.stopping.wait(0.02):
        request.wfile.write(b" ")


def drip_header(request: Any) -> None:
    """Send a header a byte at a time, never to its end."""
    request.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while not request.owner.stopping.wait(0.02):
        request.wfile.write(b"x")
