"""The routes a profile serves, as they stand in the application."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from litestar import Litestar
from litestar.routes import HTTPRoute

from registry.config.settings import load_settings
from registry.http.routes.guards import require_role
from registry.server.app import create_app
from registry.services.container import Services

REGISTRY_MODE = "registry mode"


class Served(NamedTuple):
    """One operation. `role` is what it declares; `guarded` says whether anybody looks at that."""

    method: str
    path: str
    role: str | None
    guarded: bool

    @property
    def nameless(self) -> str:
        """The operation with every parameter as `{}`; a scoped id counts as an id."""
        return f"{self.method} {nameless(self.path)}"


def nameless(path: str) -> str:
    """Return a path with every parameter, written `{name}` or `:name`, as `{}`."""
    path = re.sub(r"\{[^}/]*scope\}/\{[^}/]*name\}", "{}", path)
    return re.sub(r"\{[^}/]*\}|:\w+", "{}", path)


@contextmanager
def application(folder: Path, profile: str) -> Iterator[Litestar]:
    """Build the application of a profile, or of registry mode, over a folder."""
    flags: dict[str, Any] = {"skills_dir": str(folder / "skills"), "data_dir": str(folder / "data")}
    if profile == REGISTRY_MODE:
        stores = {"blobs.dir": str(folder / "blobs"), "registryIndex.url": str(folder / "index.git")}
        flags |= {"registry.enabled": True, **stores}
    else:
        flags["profile"] = profile
    services = Services(load_settings(flags | {"embedding.provider": "none"}, {}))
    try:
        yield create_app(services)
    finally:
        services.close()


def served_by(app: Litestar) -> list[Served]:
    """Return every operation but `OPTIONS` and `HEAD`, which Litestar adds by itself."""
    return [
        Served(method, route.path_format, handler.opt.get("role"), require_role in handler.resolve_guards())
        for route in app.routes
        if isinstance(route, HTTPRoute)
        for handler in route.route_handlers
        for method in sorted(handler.http_methods)
        if method not in {"OPTIONS", "HEAD"}
    ]
