"""A witness of transparency logs over HTTP, as C2SP tlog-witness describes it."""

import base64
import hashlib
import struct
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from registry.transparency.checkpoint import LogCheckpoint, Verifier
from registry.transparency.merkle import is_consistent

TIME = 1_700_000_000


class Witness:
    """Cosigns checkpoints of one log on loopback. `answer` replaces what it answers; `requests` counts."""

    def __init__(self, name: str = "witness.example/w1") -> None:
        self.name = name
        self._key = Ed25519PrivateKey.generate()
        self.log_key = ""
        self.last = LogCheckpoint("", 0, b"")
        self.answer: tuple[int, str] | None = None
        self.requests: list[tuple[int, int]] = []
        """The old and the new size of each request."""
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                status, text = owner.add_checkpoint(self.path, body)
                self.send_response(status)
                self.send_header("Content-Length", str(len(text.encode())))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                """Keep quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self._server.server_address[1]}"

    @property
    def setting(self) -> str:
        """What `transparency.witnesses` says of it."""
        public = b"\x04" + self._key.public_key().public_bytes_raw()
        return f"{self.name}+{self._hash().hex()}+{base64.b64encode(public).decode()} http://{self.host}/prefix/"

    def _hash(self) -> bytes:
        public = b"\x04" + self._key.public_key().public_bytes_raw()
        return hashlib.sha256(self.name.encode() + b"\n" + public).digest()[:4]

    def add_checkpoint(self, path: str, body: str) -> tuple[int, str]:
        """Return status and body of the answer to a request."""
        head, _, note = body.partition("\n\n")
        first, *proof = head.split("\n")
        old, checkpoint = int(first.removeprefix("old ")), Verifier(self.log_key).read(note)
        assert (path, first) == ("/prefix/add-checkpoint", f"old {old}")
        self.requests.append((old, checkpoint.size))
        if self.answer is not None:
            return self.answer
        if old != self.last.size:
            return 409, f"{self.last.size}\n"
        if old == checkpoint.size and self.last.root != checkpoint.root:
            return 409, f"{self.last.size}\n"
        hashes = [base64.b64decode(line, validate=True) for line in proof]
        if old and not is_consistent(old, checkpoint.size, hashes, self.last.root, checkpoint.root):
            return 422, "the proof does not verify"
        assert old or not proof
        self.last = checkpoint
        return 200, f"\u2014 other.example/w {base64.b64encode(b'x' * 76).decode()}\n{self.cosign(checkpoint)}\n"

    def cosign(self, checkpoint: LogCheckpoint) -> str:
        """Return the signature line of a cosignature."""
        signature = self._key.sign(f"cosignature/v1\ntime {TIME}\n{checkpoint.text}".encode())
        return f"\u2014 {self.name} {base64.b64encode(self._hash() + struct.pack('>Q', TIME) + signature).decode()}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
