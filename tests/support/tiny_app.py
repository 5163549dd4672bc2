"""A small application in the real shell, for tests of the shell: run as a process of its own.

Usage: python tiny_app.py '{"port": 0, "workers": 1, "limits": {…}, …}'
"""

import asyncio
import functools
import os
import resource
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from litestar import Litestar, Request, Response, get, post
from litestar.di import NamedDependency, Provide
from litestar.params import FromPath, FromQuery, QueryParameter
from msgspec import UNSET, Meta, UnsetType

from registry.config.groups import LimitsSettings
from registry.database.sqlite import SqliteDatabase
from registry.errors import skill_not_found
from registry.http.envelope import Ok, Pagination, answer_exception
from registry.http.host_guard import HostGuard
from registry.http.query_params import Page, StrictQueryParams, page
from registry.http.request_body import StrictRequest
from registry.http.request_log import RequestLog
from registry.http.request_state import request_state
from registry.runtime.logs import configure_logging
from registry.server.http_server import Site, serve
from registry.server.sockets import ListenError, listen
from registry.server.workers import serve_workers

Word = Annotated[str, Meta(pattern=r"^[a-z]{2,9}$(?!\n)", extra={"rule": "must be 2 to 9 small letters"})]
Text = Annotated[str, Meta(max_length=200, extra={"rule": "must be at most 200 characters", "multiline": True})]


class Branch(msgspec.Struct, tag="git", tag_field="type"):
    url: str
    depth: Annotated[int, Meta(ge=1)] = 1


class Thing(msgspec.Struct):
    id: Word
    count: int = 0
    text: Text | None = None
    score: float = 0.0
    on: bool | UnsetType = UNSET
    words: list[Word] = []
    origin: Branch | str | None = None
    kind: Literal["a", "b"] = "a"


class Options(msgspec.Struct):
    force: bool = False


@post("/things", status_code=201)
async def create(data: Thing) -> Ok[Thing]:
    return Ok(data)


@post("/options", status_code=200)
async def options(data: Options) -> Ok[Options]:
    return Ok(data)


class Asked(msgspec.Struct):
    q: str
    limit: int
    offset: int
    enabled: bool | None
    score: float | None
    mode: str


@get("/things")
async def find(
    page: NamedDependency[Page],
    q: Annotated[str, QueryParameter(min_length=1, max_length=50)],
    enabled: FromQuery[bool | None] = None,
    score: FromQuery[float | None] = None,
    mode: FromQuery[Literal["fast", "good"]] = "fast",
) -> Ok[Asked]:
    asked = Asked(q, page.limit, page.offset, enabled, score, mode)
    return Ok(asked, Pagination(0, page.limit, page.offset))


@get("/things/{name:str}", sync_to_thread=False)
def missing(name: FromPath[str]) -> Ok[None]:
    raise skill_not_found(name)


@get("/held")
async def held(gate: FromQuery[str]) -> Ok[str]:
    """Answer once the file `gate` is there; `gate`.begun is there from the beginning on."""
    Path(f"{gate}.begun").touch()
    while not Path(gate).exists():
        await asyncio.sleep(0.005)
    return Ok("done")


@get("/abandoned")
async def abandoned(request: Request[Any, Any, Any], gate: FromQuery[str]) -> Ok[str]:
    """Create the file `gate` once the caller has disconnected; `gate`.begun is there from the beginning on."""
    state = request_state(request.scope)
    assert not state.is_gone()
    Path(f"{gate}.begun").touch()
    while not state.is_gone():
        await asyncio.sleep(0.005)
    Path(gate).touch()
    return Ok("nobody reads this")


@get("/stuck/{how:str}")
async def stuck(how: FromPath[str], gate: FromQuery[str]) -> Ok[str]:
    """Never answer; `gate`.begun is there from the beginning on."""
    Path(f"{gate}.begun").touch()
    while how == "loop":
        time.sleep(0.05)
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            if how == "task":
                raise


@get("/large", sync_to_thread=False)
def large() -> Response[bytes]:
    """Return more than the buffers of a connection hold."""
    return Response(bytes(8 << 20), media_type="application/octet-stream")


@get("/fail/{how:str}", sync_to_thread=True)
def fail(how: FromPath[str]) -> Ok[None]:
    if how == "full":
        raise OSError(28, "No space left on device: /srv/secret/catalog.db")
    with tempfile.TemporaryDirectory() as folder:
        database = SqliteDatabase(Path(folder) / "catalog.db")
        try:
            with database.write() as transaction:
                if how == "readonly":
                    transaction.execute("pragma query_only = 1")
                    transaction.execute("create table secret_table (x)")
                transaction.execute("select * from secret_table")
        finally:
            database.close()
    return Ok(None)


@get("/thread", sync_to_thread=False)
def thread() -> Ok[str]:
    """Start a thread that does not end, and that the interpreter waits for."""
    if STUCK["at"] == "thread":
        threading.Thread(target=threading.Event().wait).start()
    return Ok("begun")


@get("/pid", sync_to_thread=False)
def pid() -> Ok[int]:
    return Ok(os.getpid())


@get("/die", sync_to_thread=False)
def die() -> Ok[None]:
    os._exit(9)


@get("/healthz", sync_to_thread=False)
def healthz() -> dict[str, str]:
    return {"status": "ok"}


STUCK = {"at": ""}


async def close(_: Litestar) -> None:
    """Close the application, or never where a test wants that."""
    if STUCK["at"] == "closing":
        await asyncio.to_thread(threading.Event().wait)


class State:
    draining = False


def make_site(
    bind: str, origins: list[str], log_format: Literal["text", "json"], limits: LimitsSettings, worker: int
) -> Site:
    configure_logging(log_format, "info")
    state = State()

    @get("/readyz", sync_to_thread=False)
    def readyz() -> Response[dict[str, str]]:
        return Response({"status": ""}, status_code=503 if state.draining else 200)

    def on_drain() -> None:
        state.draining = True

    api: list[Any] = [create, options, find, missing, held, abandoned, stuck, large, fail, thread, pid, die]
    return Site(RequestLog(HostGuard(make_app([*api, healthz, readyz], limits), bind, (), origins)), on_drain)


def make_app(handlers: list[Any], limits: LimitsSettings) -> Litestar:
    from litestar import Router

    probes = [handler for handler in handlers if handler.paths & {"/healthz", "/readyz"}]
    return Litestar(
        [*probes, Router("/api/v1", route_handlers=[handler for handler in handlers if handler not in probes])],
        dependencies={"page": Provide(page, sync_to_thread=False)},
        exception_handlers={Exception: answer_exception},
        request_class=StrictRequest,
        before_request=StrictQueryParams(),
        request_max_body_size=limits.json_body_bytes,
        on_shutdown=[close],
        logging_config=None,
        openapi_config=None,
    )


class Run(msgspec.Struct):
    host: str = "127.0.0.1"
    port: int = 0
    bind: str | None = None
    workers: int = 1
    origins: list[str] = []
    log_format: Literal["text", "json"] = "json"
    limits: LimitsSettings = LimitsSettings()
    files: tuple[int, int] | None = None
    """The soft and the hard limit of open files."""
    stuck_at: str = ""
    """What never ends: a `thread` after a request for it, or the `closing` of the application."""


def main() -> int:
    run = msgspec.json.decode(sys.argv[1], type=Run)
    STUCK["at"] = run.stuck_at
    if run.files is not None:
        resource.setrlimit(resource.RLIMIT_NOFILE, run.files)
    configure_logging(run.log_format, "info")
    make = functools.partial(make_site, run.bind or run.host, run.origins, run.log_format, run.limits)
    try:
        listener = listen(run.host, run.port)
    except ListenError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    if run.workers > 1:
        return serve_workers(make, run.workers, listener, run.limits)
    return serve(make(0), listener, run.limits)


if __name__ == "__main__":
    sys.exit(main())
