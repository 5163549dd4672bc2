"""Downloads: callers that do not read, and packages that are damaged in the store."""

import contextlib
import io
import random
import socket
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from support.publishing import Registry, skill_package
from support.raw_http import request
from support.s3 import BUCKET, KEYS, SeaweedFS
from support.waiting import PATIENCE_SECONDS, wait_until

MEBIBYTE = 1 << 20
DATA = random.Random(3).randbytes(9 * MEBIBYTE)
LARGE = skill_package("large", files={"assets/data.bin": DATA})
FILE = "/api/v1/skills/acme/large/files/assets/data.bin"
URL = "/packages/acme/large/1.0.0.zip"
OTHER_WAYS = (
    "/tree/acme/large/assets/data.bin",
    "/clawhub/api/v1/skills/large/file?path=assets/data.bin",
    "/clawhub/api/v1/download?slug=large",
    "/v1/skills/acme/large/content",
    "/v1/skills/acme/large/versions/1.0.0/content",
    "/s/acme/large/.well-known/skills/large.zip",
    "/s/acme/large/.well-known/skills/large/assets/data.bin",
)
"""The addresses of the package and of its file in the protocols of other clients."""

CALLERS = 60


@contextlib.contextmanager
def registry(folder: Path, bucket: SeaweedFS | None, *args: str) -> Iterator[Registry]:
    """Run a registry over a folder or a bucket, in which a large package is published."""
    store = bucket.flags() if bucket else ()
    with Registry(folder, *store, *args, env=KEYS if bucket else None) as running:
        assert running.finished(running.publish(LARGE))["status"] == "accepted"
        yield running
    if bucket:
        bucket.client.delete_object(Bucket=BUCKET, Key="skills/acme/large-1.0.0.zip")


@pytest.fixture(params=["folder", "bucket"])
def store(request: pytest.FixtureRequest) -> SeaweedFS | None:
    """The store of packages: a bucket, or None for a folder."""
    bucket: SeaweedFS | None = request.getfixturevalue("bucket") if request.param == "bucket" else None
    return bucket


class Sleeper:
    """A caller that asks for the package and reads nothing."""

    def __init__(self, running: Registry, credential: str) -> None:
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self._socket.settimeout(PATIENCE_SECONDS)
        self._socket.connect(("127.0.0.1", int(running.http.base_url.port or 0)))
        self._socket.sendall(request("GET", URL, f"Authorization: {credential}"))

    def wait_for_response(self) -> None:
        """Wait until the response has begun."""
        self._socket.recv(1, socket.MSG_PEEK)

    def received(self) -> int:
        """Read to the end of the connection, and return the number of bytes."""
        size = 0
        with contextlib.suppress(ConnectionResetError):
            while data := self._socket.recv(MEBIBYTE):
                size += len(data)
        return size

    def close(self) -> None:
        self._socket.close()


def memory(running: Registry) -> int:
    """Return the memory that the server has now, in bytes."""
    status = Path(f"/proc/{running.process.pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS"))


def copies(running: Registry) -> list[str]:
    """Return the open files of the server below the folder for uploads."""
    links = []
    for link in Path(f"/proc/{running.process.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            links.append(str(link.readlink()))
    return [link for link in links if link.startswith(str(running.data_dir / "publish"))]


def test_callers_that_never_read_hold_little_and_are_disconnected(tmp_path: Path, store: SeaweedFS | None) -> None:
    limits = ("--limits-response-seconds", "3", "--limits-downloads", "100")
    with registry(tmp_path, store, *limits) as running:
        credential = running.caller()["Authorization"]
        assert running.get(URL).content == LARGE
        before = memory(running)
        sleepers = [Sleeper(running, credential) for _ in range(CALLERS)]
        for sleeper in sleepers:
            sleeper.wait_for_response()
        assert not copies(running)
        assert memory(running) - before < 64 * MEBIBYTE
        assert running.http.get("/readyz").status_code == 200
        closed = "is closed: its response is not read"
        wait_until(lambda: running.log.read_text().count(closed) == CALLERS, why=running.log.read_text)
        for sleeper in sleepers:
            assert sleeper.received() < len(LARGE) // 4
            sleeper.close()
        assert running.get(URL).content == LARGE


def test_a_caller_has_a_limited_number_of_downloads_in_progress(tmp_path: Path) -> None:
    with registry(tmp_path, None, "--limits-downloads", "2") as running:
        ann, ben = running.caller(), running.caller("acme/ben")
        sleepers = [Sleeper(running, ann["Authorization"]) for _ in range(2)]
        for sleeper in sleepers:
            sleeper.wait_for_response()
        for path in (URL, FILE):
            refused = running.http.get(path, headers=ann)
            assert (refused.status_code, refused.json()["error"]["code"]) == (429, "RATE_LIMITED")
            assert int(refused.headers["Retry-After"]) > 0
        for path in OTHER_WAYS:
            refused = running.http.get(path, headers=ann)
            assert (path, refused.status_code, "Retry-After" in refused.headers) == (path, 429, True)
            assert len(running.http.get(path, headers=ben).content) >= len(DATA)
        assert running.http.get(URL, headers=ben).content == LARGE
        for sleeper in sleepers:
            sleeper.close()
        running.wait_for(lambda: running.http.get(URL, headers=ann).status_code == 200)
        for _ in range(4):
            assert running.http.head(URL, headers=ann).status_code == 200


def test_files_of_a_large_package_are_served_and_leave_nothing(tmp_path: Path, store: SeaweedFS | None) -> None:
    with registry(tmp_path, store) as running:
        assert running.get(FILE).content == DATA
        repacked = running.get("/v1/skills/acme/large/content").content
        with zipfile.ZipFile(io.BytesIO(repacked)) as archive:
            assert archive.read("assets/data.bin") == DATA
        running.wait_for(lambda: not copies(running))


@pytest.mark.parametrize("cut", [False, True])
def test_a_large_damaged_package_never_arrives_whole(tmp_path: Path, store: SeaweedFS | None, cut: bool) -> None:
    damaged = LARGE[:-1] if cut else LARGE[:-100] + bytes([LARGE[-100] ^ 1]) + LARGE[-99:]
    with registry(tmp_path, store) as running:
        if store:
            store.client.put_object(Bucket=BUCKET, Key="skills/acme/large-1.0.0.zip", Body=damaged)
            with pytest.raises(httpx.RemoteProtocolError):
                running.get(URL)
        else:
            path = running.blobs / "skills/acme/large-1.0.0.zip"
            path.chmod(0o644)
            path.write_bytes(damaged)
            assert running.get(URL).status_code == 503
        assert "the package of acme/large 1.0.0 is damaged" in running.log.read_text()
        assert running.get(FILE).status_code == 503
