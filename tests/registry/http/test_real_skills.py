"""The service over thousands of real skills: all are taken, and an exact name is first, however it is written."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.servers import RunningServer

SKILLS = Path(__file__).parents[4] / "shared" / "data" / "skills"

pytestmark = pytest.mark.skipif(not SKILLS.is_dir(), reason="needs the real skills beside the checkout")


class OverRealSkills(RunningServer):
    """A server over the real skills, which are only read."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.skills_dir = SKILLS


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with OverRealSkills(tmp_path_factory.mktemp("real")) as running:
        running.wait_for(lambda: running.status()["status"] == "ok")
        yield running


@pytest.fixture(scope="module")
def cards(server: RunningServer) -> list[dict[str, str]]:
    found: list[dict[str, str]] = []
    while page := server.api("GET", f"/skills?limit=100&offset={len(found)}").json()["data"]:
        found += page
    return found


def test_every_folder_is_taken_or_listed_with_its_reason(server: RunningServer, cards: list[dict[str, str]]) -> None:
    everywhere = {path.parent for path in SKILLS.rglob("SKILL.md")}
    folders = {folder for folder in everywhere if everywhere.isdisjoint(folder.parents)}
    status = server.status()
    assert len(cards) + len(status["skipped"]) == len(folders)
    assert len(cards) > 2600
    assert all(status["skipped"].values())
    assert all(card["name"] and card["description"] for card in cards)


@pytest.mark.parametrize(
    "written",
    [
        str,
        str.upper,
        str.title,
        lambda name: name.replace("-", "_"),
        lambda name: name.replace("-", " "),
        lambda name: name.replace(" ", "-"),
    ],
)
def test_an_exact_name_or_id_is_first(server: RunningServer, cards: list[dict[str, str]], written: object) -> None:
    sample = random.Random(7).sample(cards, 170)
    for card in sample:
        for name in (card["id"], card["name"]):
            first = server.search(written(name)[:2000], limit=1)["skills"][0]  # type: ignore[operator]
            found_id, found_name = first["skill"]["id"], first["skill"]["name"]
            assert folded(name) in {folded(found_id), folded(bare(found_id)), folded(found_name)}, name
            assert "name" in first["matched_by"]


def folded(name: str) -> str:
    return " ".join(name.casefold().replace("-", " ").replace("_", " ").split())


def bare(skill_id: str) -> str:
    return skill_id.rpartition("/")[2]


def test_the_second_start_reads_nothing_again(server: RunningServer, cards: list[dict[str, str]]) -> None:
    server.stop()
    server.start()
    server.wait_for(lambda: server.status()["status"] == "ok")
    scans = [line for line in server.log.read_text().splitlines() if "skills directory:" in line]
    assert "(0 added, 0 changed, 0 removed" in scans[-1]
    assert server.status()["skills"] == len(cards)
    assert json.loads((server.data_dir / "skill-registry.lock").read_text())["url"] == server.url
