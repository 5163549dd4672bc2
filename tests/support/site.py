"""A running server of a profile with the table of its routes: for checks that hold for every route."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx

from support.publishing import Registry, skill_package
from support.routes import REGISTRY_MODE, Served, application, served_by
from support.servers import RunningServer, bearer, new_skill

VALUES = {
    "skill_scope": "acme",
    "skill_name": "whittle",
    "id": "plain-one",
    "skill_id": "plain-one",
    "version": "1.0.0",
    "file": "1.0.0.zip",
    "name": "local",
    "rest": "skills",
}


class Site:
    """A server with its routes, and the headers of a caller who may call them all."""

    def __init__(self, server: RunningServer, routes: list[Served], headers: Mapping[str, str]) -> None:
        self.server = server
        self.routes = routes
        self.headers = dict(headers)

    def path(self, route: Served) -> str:
        """Return a path of a route. It names what the server has, as far as one server can have it all."""
        values = VALUES | {"path": "index.html" if route.path.startswith("/ui") else "SKILL.md"}
        return re.sub(r"\{(\w+)\}", lambda match: values.get(match[1], "absent-one"), route.path)

    def ask(self, method: str, path: str, **headers: str) -> httpx.Response:
        """Send a request without a body."""
        query = {"q": "forms"} if path.endswith("/search") else {}
        return self.server.http.request(method, path, params=query, headers={**self.headers, **headers})


@contextmanager
def running_site(folder: Path, profile: str) -> Iterator[Site]:
    """Run a profile, or registry mode, with the skill `plain-one` and, there, the published `acme/whittle`.

    It counts no uses: counts are written in the background, and change cards between two requests.
    """
    with application(folder / "routes", profile) as app:
        routes = served_by(app)
    if profile == REGISTRY_MODE:
        with Registry(folder, "--no-count-uses") as registry:
            registry.finished(registry.publish(skill_package("whittle")))
            admin = bearer(registry.token("admin"))
            registry.api("POST", "/skills", json=new_skill("plain-one"), headers=admin)
            yield Site(registry, routes, admin)
    else:
        with RunningServer(folder, "--no-count-uses") as server:
            server.api("POST", "/skills", json=new_skill("plain-one"))
            yield Site(server, routes, {})
