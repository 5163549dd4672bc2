"""The services that clients are pointed at: one of each profile, with the same skills."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from support.publishing import Registry
from support.servers import RunningServer
from support.zips import plain_zip

Kind = Literal["local", "open registry", "private registry"]

NAME = "zebrawood-spoons"
RIVALS = ("carving-zebrawood-spoons", "spoons")
"""Skills whose texts name the first one more often than its own."""


def skill_files(name: str, version: str = "1.0.0", about: str = "Carves things.", needs: str = "") -> dict[str, bytes]:
    """Return the files of a skill: texts, a program and bytes that are no text. `needs` are its dependencies."""
    metadata = f"metadata:\n  dependencies: {needs}\n" if needs else ""
    front = f"---\nname: {name}\ndescription: {about}\nversion: {version}\n{metadata}---\n"
    return {
        "SKILL.md": f"{front}# {name}\n\nThe state {version}, in two lines.\r\n".encode(),
        "assets/knot.png": b"\x89PNG\r\n\x1a\n\x00\xff",
        "references/grain.md": "# Grain: längs\n".encode(),
        "scripts/carve.sh": b"#!/bin/sh\necho carved\n",
    }


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files of a skill into a folder."""
    for path, data in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)


class Service:
    """A service with a skill called NAME, and others whose texts name it more often."""

    def __init__(self, server: RunningServer, kind: Kind) -> None:
        self.server = server
        self.kind = kind
        self.files: dict[str, Mapping[str, bytes]] = {}

    @property
    def url(self) -> str:
        """The address."""
        return self.server.url

    @property
    def token(self) -> str:
        """A token of a reader."""
        assert isinstance(self.server, Registry)
        return self.server.caller("reader", "user")["Authorization"].removeprefix("Bearer ")

    @property
    def owner(self) -> str:
        """The scope of the skills in ClawHub's protocol."""
        return "local" if self.kind == "local" else "acme"

    @property
    def publisher_token(self) -> str:
        """A token of a user who may publish. A local service takes any text."""
        return self.server.token("manager", "acme/ann") if isinstance(self.server, Registry) else "any"

    @property
    def headers(self) -> dict[str, str]:
        """What a caller sends who may read."""
        return {"Authorization": f"Bearer {self.token}"} if self.kind == "private registry" else {}

    def id_of(self, name: str) -> str:
        """Return the id of a skill."""
        return name if self.kind == "local" else f"acme/{name}"

    def publish(self, name: str, version: str = "1.0.0", about: str = "Carves things.", needs: str = "") -> None:
        """Publish a version of a skill, or write its folder; return when the service has it."""
        files = skill_files(name, version, about, needs)
        self.files[name] = files
        if isinstance(self.server, Registry):
            job = self.server.finished(self.server.publish(plain_zip(files)))
            assert job["status"] == "accepted", job
            return
        write_files(self.server.skills_dir / name, files)
        self.server.wait_for(lambda: self._version_of(name) == version)

    def _version_of(self, name: str) -> str | None:
        answer = self.server.api("GET", f"/skills/{name}")
        return answer.json()["data"]["version"] if answer.status_code == 200 else None


@contextmanager
def service(folder: Path, kind: Kind) -> Iterator[Service]:
    """Run a service of this kind."""
    if kind == "local":
        server = RunningServer(folder)
    else:
        server = Registry(folder, *(["--auth-anonymous-read"] if kind == "open registry" else []))
    with server:
        made = Service(server, kind)
        made.publish(NAME)
        for rival in RIVALS:
            made.publish(rival, about=f"{NAME} {NAME}, carves {NAME} as {NAME} does.")
        yield made
