"""A service whose catalog changes before any one of the reads of a request that a test picks."""

import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from registry.config.settings import load_settings
from registry.server.app import create_app
from registry.server.run import wrapped
from registry.services.container import Services
from support.asgi import ask
from support.raw_http import RawAnswer

_MOST_READS = 40
_FLAGS: Mapping[str, Any] = {
    "profile": "registry",
    "auth.anonymous_read": True,
    "embedding.provider": "none",
    "limits.reads_per_minute": 1_000_000,
}


class ChangingCatalog:
    """The application of the registry profile over folders, which anybody may read."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self._site = wrapped(create_app(services), services)
        self._change: Callable[[], object] = lambda: None
        self._changing = ThreadPoolExecutor(1)  # a change may not run on the event loop, where some reads may
        self._lock = threading.Lock()
        self._reads_left = -1
        database: Any = services.database
        database.read = self._changing_before(database.read)

    def _changing_before(self, read: Callable[..., Any]) -> Callable[..., Any]:
        def read_later(*arguments: Any, **options: Any) -> Any:
            with self._lock:
                self._reads_left -= 1
                is_due = self._reads_left == -1
            if is_due:
                self._changing.submit(self._change).result()
            return read(*arguments, **options)

        return read_later

    async def ask(self, path: str, **headers: str) -> RawAnswer:
        """Return the answer while nothing changes."""
        self._reads_left = -1
        return await ask(self._site, "GET", path, headers=headers)

    async def interrupted(self, path: str, change: Callable[[], object]) -> AsyncIterator[RawAnswer]:
        """Ask again and again, each time with a change before a later read, until the request reads no more."""
        self._change = change
        for reads in range(_MOST_READS):
            self._reads_left = reads
            answer = await ask(self._site, "GET", path)
            if self._reads_left >= 0:
                self._reads_left = -1
                return
            yield answer
        raise AssertionError("the request reads without end")


@contextmanager
def changing_catalog(folder: Path, **flags: Any) -> Iterator[ChangingCatalog]:
    """Serve the skills below `folder/skills`. Nothing runs in the background, so only the test changes anything."""
    places = {"skills_dir": str(folder / "skills"), "data_dir": str(folder / "data")}
    services = Services(load_settings({**_FLAGS, **places, **flags}, {}))
    try:
        services.scan()
        services.ready.set()
        yield ChangingCatalog(services)
    finally:
        services.close()
