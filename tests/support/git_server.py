"""Real git repositories behind a real HTTP server on loopback: `git http-backend`, as public hosts run it."""

import os
import socket
import subprocess
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

_BLANK = {
    "PATH": os.defpath,
    "HOME": os.devnull,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_{what}": "Ada" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


class Repository:
    """A repository with one branch, `main`, and a working tree to commit from."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main")

    @classmethod
    def at(cls, folder: Path) -> "Repository":
        """Return the repository that is in a folder already."""
        repository = cls.__new__(cls)
        repository.folder = folder
        return repository

    def git(self, *arguments: str, **env: str) -> str:
        """Run git in the working tree and return what it prints."""
        done = subprocess.run(
            ["git", *arguments], cwd=self.folder, env=_BLANK | env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def commit(self, files: Mapping[str, str] | None = None) -> str:
        """Write files, commit all there is, and return the commit."""
        for name, text in (files or {}).items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message=change")
        return self.git("rev-parse", "HEAD")


class GitServer:
    """Serves the repositories below `folder`: `url(name)` of each. `before` may answer a request in git's place.

    `paths` are those asked for, `authorizations` the header sent with each.
    """

    def __init__(self, folder: Path, address: str = "127.0.0.1") -> None:
        self.folder = folder
        self.paths: list[str] = []
        self.authorizations: list[str | None] = []
        self.before: Callable[[BaseHTTPRequestHandler], bool] = lambda request: False
        self.stopping = threading.Event()
        handler = type("Handler", (_Handler,), {"owner": self})
        server = type("Server", (ThreadingHTTPServer,), {"address_family": socket.getaddrinfo(address, None)[0][0]})
        self.server = self._server = server((address, 0), handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self.host = f"{f'[{address}]' if ':' in address else address}:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def repository(self, name: str) -> Repository:
        """Make an empty repository."""
        return Repository(self.folder / name)

    def url(self, name: str, user: str = "") -> str:
        return f"http://{user}{self.host}/{name}/.git"

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def __enter__(self) -> "GitServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    owner: GitServer

    def do_GET(self) -> None:
        self.owner.paths.append(self.path)
        self.owner.authorizations.append(self.headers["Authorization"])
        try:
            if not self.owner.before(self):
                self._answer(b"")
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def do_POST(self) -> None:
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = self._chunks()
        else:
            body = self.rfile.read(int(self.headers["Content-Length"]))
        self.owner.paths.append(self.path)
        try:
            self._answer(body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _chunks(self) -> bytes:
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        return body

    def _answer(self, body: bytes) -> None:
        parts = urlsplit(self.path)
        env = _BLANK | {
            "GIT_PROJECT_ROOT": str(self.owner.folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": parts.path,
            "QUERY_STRING": parts.query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
        }
        done = subprocess.run(["git", "http-backend"], input=body, env=env, capture_output=True, check=False)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = [line.split(": ", 1) for line in head.decode().split("\r\n") if line]
        status = next((value.split()[0] for name, value in headers if name == "Status"), "200")
        self.send_response(int(status))
        for name, value in headers:
            if name != "Status":
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep quiet."""
