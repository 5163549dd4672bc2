"""A server with sources to install from: real repositories, a real web server."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from support.git_server import GitServer, Repository
from support.servers import RunningServer
from support.web_server import WebServer


def skill_md(name: str, version: str = "1.0.0", body: str = "") -> str:
    return (
        f"---\nname: {name}\ndescription: A skill about {name}.\nmetadata:\n  version: {version}\n---\n# {name}\n{body}"
    )


class World(NamedTuple):
    """A server with the sources `hub` and `other`, two repositories, both of which have a skill `twin`."""

    server: RunningServer
    hub: GitServer
    skills: Repository
    web: WebServer
    folder: Path

    def install(self, **body: Any) -> httpx.Response:
        return self.server.api("POST", "/skills", json=body)

    def installed(self, **body: Any) -> dict[str, Any]:
        answer = self.install(**body)
        assert answer.status_code == 201, answer.text
        data: dict[str, Any] = answer.json()["data"]
        return data

    def publish(self, name: str, version: str = "1.0.0", body: str = "", **files: str) -> str:
        """Commit a skill to the repository behind `hub` and have it listed; return the commit."""
        texts = {f"skills/{name}/SKILL.md": skill_md(name, version, body)}
        commit = self.skills.commit(texts | {f"skills/{name}/{path}": text for path, text in files.items()})
        assert self.server.api("POST", "/registry/refresh").status_code == 200
        return commit

    def get(self, path: str) -> Any:
        answer = self.server.api("GET", path)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    def upgrade(self, **body: Any) -> dict[str, Any]:
        answer = self.server.api("POST", "/skills/upgrade", json=body)
        assert answer.status_code == 200, answer.text
        data: dict[str, Any] = answer.json()["data"]
        return data

    def upgraded(self, skill_id: str, **body: Any) -> dict[str, Any]:
        """Return the row of one skill."""
        rows: list[dict[str, Any]] = self.upgrade(skill_id=skill_id, **body)["results"]
        (row,) = rows
        return row

    def subdir(self, name: str, **ref: str) -> dict[str, Any]:
        """Return the origin of a skill of the repository behind `hub`."""
        origin = {"type": "git", "url": self.hub.url("skills"), "subdir": f"skills/{name}"}
        return origin | ({"ref": ref} if ref else {})


@contextmanager
def install_world(folder: Path) -> Iterator[World]:
    """Run the server of a world with everything it stands on, and look at the end whether all is in order."""
    with GitServer(folder / "hub") as hub, WebServer() as web:
        skills, other = hub.repository("skills"), hub.repository("other")
        skills.commit({"skills/twin/SKILL.md": skill_md("twin")})
        other.commit({"twin/SKILL.md": skill_md("twin"), "alone/SKILL.md": skill_md("alone")})
        config = folder / "registry.toml"
        config.write_text(
            f'[[sources]]\nname = "hub"\ntype = "git"\nurl = "{hub.url("skills", "ada:canary@")}"\n'
            f'[[sources]]\nname = "other"\ntype = "git"\nurl = "{hub.url("other")}"\n'
        )
        allowed = ("--outbound-allowed-host", hub.host, "--outbound-allowed-host", web.host)
        server = RunningServer(folder, *allowed, "--config", str(config))
        server.manifest.write_text('# ours\n[metadata]\nid = "shop"\n')
        with server:
            assert server.api("POST", "/registry/refresh").status_code == 200
            yield World(server, hub, skills, web, folder)
            assert not list(server.skills_dir.glob(".skill-registry-*"))
            assert server.status()["drift"] == 0
        assert "canary" not in server.log.read_text() + (folder / "skills.lock").read_text()
