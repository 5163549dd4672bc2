"""Counts the modules that a search, a create and a publish pass: how many files the reader of one must open.

    PYTHONPATH=tests python -m support.walks

A service runs in this process, over a temporary folder and without background work that a request does not cause. A
profiler sees every call of a function of ours, on every thread, while a request is answered. Each request is sent once
before, so that what is read at first use does not count.
"""

import asyncio
import json
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from litestar.types import ASGIApp
from rich.console import Console

import embeddings
import registry
import search
from registry.config.settings import load_settings
from registry.publish.service import git_index
from registry.server.app import create_app
from registry.server.run import wrapped
from registry.services.container import Services
from support.asgi import ask
from support.publishing import SECRET, bare_repository, skill_package
from support.servers import write_skill

_OURS = tuple(str(Path(str(package.__file__)).parent) for package in (embeddings, registry, search))
_FORM = "multipart/form-data; boundary=walk"
_LOOK_SECONDS = 0.1
_TIMES = 5


class Walk(NamedTuple):
    """What one request passed: modules, functions, calls of functions, and calls from one module into another."""

    modules: int
    functions: int
    calls: int
    moves: int


class Profiler:
    """Notes the calls of functions of ours while it is on. Threads that start before it exists are not seen."""

    def __init__(self) -> None:
        self._calls: list[tuple[str, str, str]] = []
        self._is_on = False
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if self._is_on and event == "call" and code.co_filename.startswith(_OURS):
            caller = frame.f_back.f_code.co_filename if frame.f_back else ""
            self._calls.append((code.co_filename, code.co_qualname, caller))

    @contextmanager
    def walking(self) -> Iterator[None]:
        """Note the calls while the block runs, instead of those noted before."""
        self._calls.clear()
        self._is_on = True
        try:
            yield
        finally:
            self._is_on = False

    def walk(self) -> Walk:
        """Return what the calls of the last walk passed."""
        calls = [call for call in self._calls if not call[1].endswith(("<genexpr>", "<listcomp>", "<dictcomp>"))]
        moves = sum(module != caller for module, _, caller in calls)
        functions = {(module, function) for module, function, _ in calls}
        return Walk(len({module for module, _ in functions}), len(functions), len(calls), moves)


async def _profiled(profiler: Profiler, send: Callable[[int], Awaitable[None]]) -> Walk:
    """Send a request several times, told apart by a number, and return the shortest walk after the first.

    What other threads do meanwhile makes a walk longer, never shorter.
    """
    await send(0)
    walks = []
    for number in range(1, _TIMES):
        with profiler.walking():
            await send(number)
        walks.append(profiler.walk())
    return min(walks)


@asynccontextmanager
async def _service(folder: Path, **flags: object) -> AsyncIterator[ASGIApp]:
    """Run a service over `folder`, and yield its application when the service is ready."""
    places = {name: str(folder / name) for name in ("data_dir", "skills_dir")}
    settings = load_settings({**places, "project.file": str(folder / "skill-project.toml"), **flags}, {})
    if settings.registry.enabled:
        git_index(settings).prepare()
    services = Services(settings)
    application = create_app(services)
    async with application.lifespan():
        while not services.ready.is_set():
            await asyncio.sleep(_LOOK_SECONDS)
        yield wrapped(application, services)


async def _ok(site: ASGIApp, *request: Any, **options: Any) -> Any:
    answer = await ask(site, *request, **options)
    assert answer.status < 300, answer.body
    return json.loads(answer.body)["data"]


async def local_walks(folder: Path, profiler: Profiler) -> dict[str, Walk]:
    """Return what a hybrid search passes, and the making of a skill in the local profile."""
    write_skill(folder / "skills_dir", "carver", "Carves spoons out of birch with great care.")
    write_skill(folder / "skills_dir", "brewer", "Brews tea, green or black.")
    async with _service(folder, **{"embedding.provider": "local", "server.allowed_hosts": "localhost"}) as site:

        async def search_with(number: int) -> None:
            found = await _ok(site, "GET", f"/api/v1/search?q=carve+a+spoon+{number}")
            assert found["skills"], found

        async def create(number: int) -> None:
            skill = {"id": f"mender-{number}", "name": "Mender", "description": "Mends shoes.", "version": "1.0.0"}
            await _ok(site, "POST", "/api/v1/skills", json.dumps(skill).encode())

        return {"search": await _profiled(profiler, search_with), "create": await _profiled(profiler, create)}


async def registry_walks(folder: Path, profiler: Profiler) -> dict[str, Walk]:
    """Return what a publish passes, from the upload until the package is accepted and in the index."""
    index, blobs = bare_repository(folder / "index.git"), folder / "blobs"
    registry_mode = {"registry.enabled": True, "registryIndex.url": str(index), "blobs.dir": str(blobs)}
    async with _service(
        folder, **registry_mode, **{"auth.issuer": "open", "auth.secret": SECRET, "embedding.provider": "none"}
    ) as site:
        signed_in = json.dumps({"role": "admin", "username": "acme/ann"}).encode()
        token = (await _ok(site, "POST", "/auth/token", signed_in))["token"]
        caller = {"Authorization": f"Bearer {token}"}

        async def publish(number: int) -> None:
            package = skill_package(f"mender-{number}")
            head = b'--walk\r\nContent-Disposition: form-data; name="package"; filename="package.zip"\r\n\r\n'
            body = head + package + b"\r\n--walk--\r\n"
            job = await _ok(site, "POST", "/api/registry/publish", body, _FORM, caller)
            status = f"/api/registry/publish/{job['job_id']}/status"
            while not (job.get("completed_at") and job["index_synced"]):
                await asyncio.sleep(_LOOK_SECONDS)
                job = await _ok(site, "GET", status, headers=caller)
            assert job["status"] == "accepted", job

        return {"publish": await _profiled(profiler, publish)}


async def _all() -> dict[str, Walk]:
    profiler = Profiler()
    with tempfile.TemporaryDirectory() as name:
        return await local_walks(Path(name) / "local", profiler) | await registry_walks(
            Path(name) / "registry", profiler
        )


if __name__ == "__main__":
    Console().print_json(json.dumps({journey: walk._asdict() for journey, walk in asyncio.run(_all()).items()}))
