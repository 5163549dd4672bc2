"""kill -9 during installations and upgrades: a skill is there whole or not at all, and its origin is known."""

import itertools
import random
import threading
import time
from pathlib import Path

import httpx
import pytest

from registry.project.lock_file import read_lock
from registry.skill_folder import tree_digest
from support.endurance import times
from support.git_server import GitServer, Repository
from support.servers import RunningServer

KILLS = times(30)
FILES = {f"references/{number}.md": f"# {number}\n" * 50 for number in range(40)}


def publish(skills: Repository, version: str) -> None:
    front = "---\nname: {}\ndescription: A skill that is installed again and again.\nmetadata:\n  version: {}\n---\n"
    files = {f"{name}/SKILL.md": front.format(name, version) for name in ("one", "two")}
    skills.commit(files | {f"one/{path}": text + version for path, text in FILES.items()})


def change_until_killed(url: str, origins: dict[str, dict[str, str]]) -> None:
    """Install, upgrade and remove skills until the server is gone."""
    with httpx.Client(base_url=f"{url}/api/v1", timeout=60, trust_env=False) as http:
        try:
            for number in itertools.count():
                for origin in origins.values():
                    http.post("/skills", json={"origin": origin})
                http.post("/skills/upgrade", json={})
                if number % 2:
                    http.delete("/skills/one")
        except httpx.TransportError:
            return


@pytest.mark.endurance
def test_kill_9_leaves_whole_skills_with_their_origins(tmp_path: Path) -> None:
    with GitServer(tmp_path / "hub") as hub:
        skills = hub.repository("skills")
        publish(skills, "1.0.0")
        origins = {name: {"type": "git", "url": hub.url("skills"), "subdir": name} for name in ("one", "two")}
        server, drawn = RunningServer(tmp_path, "--outbound-allowed-host", hub.host), random.Random(7)
        server.manifest.write_text('[metadata]\nid = "shop"\n')
        for run in range(KILLS):
            server.start()
            check_whole(server)
            writer = threading.Thread(target=change_until_killed, args=(server.url, origins))
            writer.start()
            time.sleep(drawn.uniform(0.05, 0.8))
            publish(skills, f"1.0.{run + 1}")
            server.kill()
            writer.join()
        with server:
            check_whole(server)


def check_whole(server: RunningServer) -> None:
    """Assert that what is installed is whole, known by its origin, found, and that nothing else is there."""
    assert not [path for path in server.skills_dir.iterdir() if path.name.startswith(".")]
    rows = {
        row["id"]: row for row in server.api("POST", "/skills/upgrade", json={"check": True}).json()["data"]["results"]
    }
    installed = {path.name for path in server.skills_dir.iterdir()}
    assert rows.keys() == installed
    for name, row in rows.items():
        assert row["outcome"] in ("would_update", "up_to_date"), row
        skill = server.api("GET", f"/skills/{name}").json()["data"]
        assert (skill["digest"], skill["source_type"]) == (tree_digest(server.skills_dir / name), "git")
        files = server.api("GET", f"/skills/{name}/files").json()["data"]
        assert len(files) == (1 + len(FILES) if name == "one" else 1)
    lock = server.manifest.with_name("skills.lock")
    if lock.exists():
        read_lock(lock)
