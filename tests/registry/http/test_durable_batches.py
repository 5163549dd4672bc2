"""A batch of skills survives a power cut once it is answered, and a kill at any time leaves whole skills only."""

import contextlib
import json
from pathlib import Path

import httpx
import pytest

from registry.runtime.atomic_files import TEMPORARY_PREFIX
from support.killing import Steps, kill_all
from support.servers import RunningServer, new_skill

SKILLS = 20
CONTENT = "# Durable\n\n" + "Keep what was said. " * 50 + "The end.\n"


def created(server: RunningServer) -> int:
    """Send a batch, and return how many skills it has created."""
    body = "\n".join(json.dumps(new_skill(f"durable-{number}", content=CONTENT)) for number in range(SKILLS))
    headers = {"Content-Type": "application/x-ndjson"}
    answer = server.api("POST", "/skills:batch", content=body.encode(), headers=headers)
    return int(answer.json()["data"]["created"])


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the steps of a service that creates a batch, in order, with paths below its folder."""
    folder = tmp_path_factory.mktemp("durable").resolve()
    with RunningServer(folder) as server, Steps(server.process, pause=0.001) as followed:
        assert created(server) == SKILLS
    return [step.replace(f"{folder}/", "") for step in followed.taken]


def moves(steps: list[str]) -> list[str]:
    """Return the staged folders that moved into place."""
    folders = {Path(step.split()[1]).parent for step in steps if step.startswith("fsync") and "SKILL.md" in step}
    return [str(folder) for folder in folders if f"rename {folder}" in steps]


def test_every_folder_is_on_the_disk_before_it_moves_into_place(steps: list[str]) -> None:
    staged = moves(steps)
    assert len(staged) == SKILLS
    for folder in staged:
        calls = [f"write {folder}/SKILL.md", f"fsync {folder}/SKILL.md", f"fsync {folder}", f"rename {folder}"]
        assert calls == sorted(calls, key=steps.index)


def test_the_moves_and_their_rows_are_on_the_disk_before_the_answer(steps: list[str]) -> None:
    last_move = max(steps.index(f"rename {folder}") for folder in moves(steps))
    answer = max(number for number, step in enumerate(steps) if step.startswith("writev socket"))
    synced = steps.index("fsync skills", last_move)
    written = steps.index("pwrite64 data/skill-registry.db-wal", synced)
    assert written < steps.index("fdatasync data/skill-registry.db-wal", written) < answer


@pytest.mark.parametrize("part", [0.2, 0.4, 0.6, 0.8, 0.95])
def test_a_kill_leaves_whole_skills_only(tmp_path: Path, steps: list[str], part: float) -> None:
    server = RunningServer(tmp_path).start()
    acknowledged = 0
    with Steps(server.process, round(len(steps) * part), pause=1), contextlib.suppress(httpx.TransportError):
        acknowledged = created(server)
    kill_all(server.process.pid)  # where the batch has ended before that step
    server.process.wait()
    server.http.close()
    left = sorted(path.name for path in server.skills_dir.iterdir() if not path.name.startswith(TEMPORARY_PREFIX))
    assert all((server.skills_dir / name / "SKILL.md").read_text().endswith(CONTENT) for name in left)
    assert len(left) >= acknowledged
    with server:
        cards = server.api("GET", "/skills?limit=100").json()["data"]
        assert sorted(card["id"] for card in cards) == left
        assert created(server) == SKILLS - len(left)
        assert list((server.data_dir / "staged").iterdir()) == []
