"""The skills directory while the service runs: every change is picked up, and nothing in it is altered."""

import hashlib
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from support.servers import RunningServer, new_skill, write_skill


@pytest.fixture(scope="module")
def watching(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with RunningServer(tmp_path_factory.mktemp("watch")) as running:
        yield running


def waits_for(server: RunningServer, skill_id: str, status: int = 200) -> None:
    server.wait_for(lambda: server.api("GET", f"/skills/{skill_id}").status_code == status)


def tree(root: Path) -> dict[str, tuple[str, int]]:
    """Return every path below a folder with its content's digest and its time of change."""
    return {
        path.relative_to(root).as_posix(): (
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
            path.lstat().st_mtime_ns,
        )
        for path in root.rglob("*")
    }


def test_added_changed_and_removed_folders_are_seen(watching: RunningServer) -> None:
    folder = write_skill(watching.skills_dir, "otter-care", "Look after an otter.")
    waits_for(watching, "otter-care")
    assert watching.found("otter") == ["otter-care"]
    write_skill(watching.skills_dir, "otter-care", "Look after a walrus.")
    watching.wait_for(lambda: watching.found("walrus") == ["otter-care"])
    assert watching.found("otter", filters={"tags": ["absent"]}) == []
    shutil.rmtree(folder)
    waits_for(watching, "otter-care", 404)
    assert watching.found("walrus") == []


def test_a_skill_that_was_created_is_the_same_when_its_folder_is_read_again(watching: RunningServer) -> None:
    def read() -> dict[str, Any]:
        skill: dict[str, Any] = watching.api("GET", "/skills/exact").json()["data"]
        return skill

    capabilities = ["Read, write and sign PDF", "extract"]
    watching.api("POST", "/skills", json=new_skill("exact", capabilities=capabilities, tags=["pdf"]))
    for more in ([], ["rows, columns"]):
        if more:
            watching.api("PUT", "/skills/exact", json={"capabilities": capabilities + more})
        before = read()
        assert before["capabilities"] == capabilities + more
        file = watching.skills_dir / "exact" / "SKILL.md"
        file.write_text(f"{file.read_text()}\nMore.\n")
        watching.wait_for(partial(lambda etag: read()["etag"] != etag, before["etag"]))
        after = read()
        assert {name for name in after if after[name] != before[name]} <= {"etag", "updated_at", "digest"}


def test_a_broken_folder_is_told_and_comes_back_when_repaired(watching: RunningServer) -> None:
    folder = write_skill(watching.skills_dir, "fragile", "A skill about porcelain.")
    waits_for(watching, "fragile")
    (folder / "SKILL.md").write_text("")
    watching.wait_for(lambda: "empty" in watching.status()["skipped"].get("fragile", ""))
    assert watching.api("GET", "/skills/fragile").status_code == 404
    write_skill(watching.skills_dir, "fragile", "A skill about porcelain.")
    waits_for(watching, "fragile")
    assert "fragile" not in watching.status()["skipped"]


def test_a_renamed_folder_is_found_by_its_new_name(watching: RunningServer) -> None:
    folder = write_skill(watching.skills_dir, "old-name", "A skill about marzipan.")
    waits_for(watching, "old-name")
    folder.rename(watching.skills_dir / "new-name")
    waits_for(watching, "new-name")
    waits_for(watching, "old-name", 404)


def test_a_folder_moved_in_brings_the_skills_within_it(watching: RunningServer, tmp_path: Path) -> None:
    for name in ("nested-one", "nested-two", "deeper/nested-three"):
        write_skill(tmp_path / "moved" / "skills", name, "A skill from elsewhere.")
    shutil.move(tmp_path / "moved", watching.skills_dir / "moved")
    for name in ("nested-one", "nested-two", "nested-three"):
        waits_for(watching, name)
    write_skill(watching.skills_dir / "moved/skills", "nested-four", "A skill in a folder that came later.")
    waits_for(watching, "nested-four")


def described(server: RunningServer, skill_id: str) -> str:
    """Return the description of a skill; empty if there is none."""
    answer = server.api("GET", f"/skills/{skill_id}")
    return str(answer.json()["data"]["description"]) if answer.status_code == 200 else ""


def test_ids_stay_when_a_folder_of_the_same_name_comes_later(watching: RunningServer) -> None:
    write_skill(watching.skills_dir / "alice", "whisper", "Alice transcribes speech.")
    waits_for(watching, "whisper")
    write_skill(watching.skills_dir / "bob", "whisper", "Bob transcribes speech.")
    waits_for(watching, "bob/whisper")
    assert described(watching, "whisper").startswith("Alice")
    shutil.rmtree(watching.skills_dir / "alice")
    watching.wait_for(lambda: described(watching, "whisper").startswith("Bob"))
    assert described(watching, "bob/whisper").startswith("Bob"), "the former id does not answer"


def test_many_folders_at_once_are_all_found(tmp_path: Path) -> None:
    with RunningServer(tmp_path) as server:
        for number in range(500):
            write_skill(server.skills_dir, f"bulk-{number}", f"One of many, number {number}.")
        server.wait_for(lambda: server.status()["skills"] == 500)
        for number in range(0, 500, 25):
            assert server.found(f"bulk-{number}", limit=1) == [f"bulk-{number}"]
        assert server.status()["drift"] == 0


def test_changes_made_while_it_was_stopped_are_taken_over(tmp_path: Path) -> None:
    for name in ("kept-skill", "gone-skill", "changed-skill"):
        write_skill(tmp_path / "skills", name, "A skill about parsnips.")
    server = RunningServer(tmp_path)
    with server:
        created = server.api("GET", "/skills/kept-skill").json()["data"]["created_at"]
        assert len(server.found("parsnips")) == 3
    shutil.rmtree(tmp_path / "skills/gone-skill")
    write_skill(tmp_path / "skills", "changed-skill", "A skill about turnips.")
    write_skill(tmp_path / "skills", "added-skill", "A skill about leeks.")
    with server:
        assert server.found("parsnips") == ["kept-skill"]
        assert server.found("turnips") == ["changed-skill"]
        assert server.found("leeks") == ["added-skill"]
        assert server.api("GET", "/skills/kept-skill").json()["data"]["created_at"] == created


def test_serving_alters_nothing_in_the_skills_directory(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "plain-skill", "A skill like any other.")
    write_skill(tmp_path / "skills/team", "nested-skill", "A skill in a folder of a team.")
    (tmp_path / "skills/broken").mkdir()
    (tmp_path / "skills/broken/SKILL.md").write_bytes(b"---\r\nname: [\r\n---\r\nIt has \xff in it.\r\n")
    (tmp_path / "skills/notes.txt").write_text("not a skill")
    before = tree(tmp_path / "skills")
    for _ in range(2):
        with RunningServer(tmp_path) as server:
            assert server.found("team")
            assert server.api("POST", "/reindex", json={"force": True}).status_code == 200
            assert server.api("GET", "/skills/plain-skill/files").status_code == 200
    assert tree(tmp_path / "skills") == before
