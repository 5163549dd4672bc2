"""A Milvus Lite server in a process of its own: it can be stopped, killed and started again with its data."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Self

from registry.config.groups import SearchSettings
from registry.config.types import ServerUrl
from registry.milvus.connection import MilvusConnection
from support.ports import free_port
from support.waiting import wait_until


class MilvusServer:
    """Owns the server of a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "milvus_lite", "server", "--data-dir", str(self._folder / "data")]
        command += ["--host", "127.0.0.1", "--port", str(self.port)]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, env={**os.environ, "PYTHONUNBUFFERED": "1"}
            )
        wait_until(lambda: b"listening" in (self._folder / "log").read_bytes())
        return self

    def kill(self) -> None:
        """End it as a crash would, also while it is paused."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        (self._folder / "log").write_bytes(b"")

    def pause(self) -> None:
        """Stop its process: it accepts connections, and does not answer."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED)  # its threads answer until then

    def resume(self) -> None:
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGCONT)

    def connection(self, seconds: float = 60.0) -> MilvusConnection:
        return MilvusConnection(
            SearchSettings(vectors="milvus", milvus_uri=ServerUrl(self.uri), milvus_seconds=seconds)
        )

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *error: object) -> None:
        if self._process is not None and self._process.poll() is None:
            self.kill()
