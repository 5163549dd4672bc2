"""A batch of skills survives a power cut once it is answered: its system calls are those of durable folders."""

import json
from pathlib import Path

import pytest

from support.killing import Steps
from support.servers import RunningServer, new_skill

SKILLS = 20


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the steps of a service that creates a batch, in order, with paths below its folder."""
    folder = tmp_path_factory.mktemp("durable").resolve()
    body = "\n".join(json.dumps(new_skill(f"durable-{number}")) for number in range(SKILLS))
    with RunningServer(folder) as server, Steps(server.process, pause=0.001) as followed:
        headers = {"Content-Type": "application/x-ndjson"}
        answer = server.api("POST", "/skills:batch", content=body.encode(), headers=headers)
        assert answer.json()["data"]["created"] == SKILLS
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
