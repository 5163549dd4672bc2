"""`skill-registry import`: into the catalog of this machine, and to a server."""

import json
from pathlib import Path

import pytest

from support.commands import Done, steps
from support.endurance import times
from support.servers import RunningServer, new_skill, write_skill


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    """A folder of skills, of which one has another file and one is empty."""
    root = tmp_path / "collection"
    write_skill(root, "first-one", "Sorts the words of a text.", "# Sort\n", tags="words, order", version="2.1.0")
    write_skill(root / "more", "second-one", "Counts the words of a text.")
    write_skill(root, "with-script", "Runs a script of its own.")
    (root / "with-script" / "run.py").write_text("print()\n")
    (root / "empty-one").mkdir()
    (root / "empty-one" / "SKILL.md").touch()
    return root


def lines(folder: Path, *ids: str) -> str:
    path = folder / "skills.ndjson"
    path.write_text("".join(json.dumps(new_skill(one)) + "\n" for one in ids))
    return path.name


def test_a_folder_becomes_skills_of_this_machine(tmp_path: Path, collection: Path) -> None:
    done = Done(tmp_path, "import", str(collection), "--skills-dir", "skills", "--data-dir", "data", "--json")
    assert (done.code, done.json["created"], done.json["failed"]) == (1, 2, 2)
    assert sorted(done.json["problems"]) == ["empty-one", "with-script"]
    assert "run.py" in done.json["problems"]["with-script"]
    text = (tmp_path / "skills" / "first-one" / "SKILL.md").read_text()
    assert all(part in text for part in ("Sorts the words of a text.", "2.1.0", "words, order", "# Sort\n"))
    found = Done(tmp_path, "search", "counts words", "--skills-dir", "skills", "--data-dir", "data", "--json").json
    assert found["skills"][0]["skill"]["id"] == "second-one"


def test_lines_go_to_a_server_and_again_without_harm(tmp_path: Path) -> None:
    with RunningServer(tmp_path / "server") as server:
        name = lines(tmp_path, "line-one", "line-two")
        done = Done(tmp_path, "import", name, "--server", server.url)
        assert (done.code, done.error) == (0, "")
        assert server.api("GET", "/skills/line-two").status_code == 200
        again = Done(tmp_path, "import", lines(tmp_path, "line-one", "line-two", "line-three"), "--server", server.url)
        assert again.code == 1
        assert "already exists" in again.out
        last = Done(tmp_path, "import", name, "--skip-existing", "--server", server.url, "--json")
        assert (last.code, last.json) == (0, {"created": 0, "existing": 3, "failed": 0, "problems": {}})
        assert server.api("GET", "/skills/line-three").status_code == 200


def test_more_lines_than_one_request_takes(tmp_path: Path) -> None:
    ids = [f"many-{number}" for number in range(1_150)]
    ids[1_100] = "no"
    with RunningServer(tmp_path / "server", "--profile", "registry") as server:
        environment = {"SKILL_REGISTRY_CLIENT_API_KEY": server.token("manager")}
        done = Done(tmp_path, "import", lines(tmp_path, *ids), "--server", server.url, "--json", **environment)
        assert (done.code, done.json["created"]) == (1, 1_149)
        assert list(done.json["problems"]) == ["line 1101"]
        assert server.sign_in().api("GET", "/skills").json()["pagination"]["total"] == 1_149


def test_standard_input_is_read(tmp_path: Path) -> None:
    line = json.dumps(new_skill("piped-one"))
    done = Done(tmp_path, "import", "-", "--skills-dir", "skills", "--data-dir", "data", stdin=line)
    assert (done.code, (tmp_path / "skills" / "piped-one" / "SKILL.md").exists()) == (0, True)


def test_nothing_to_import_is_said(tmp_path: Path) -> None:
    (tmp_path / "blank.ndjson").write_text("\n\n")
    Done(tmp_path, "import", "blank.ndjson").complains(1, "no skills", "blank.ndjson")
    assert not (tmp_path / "data").exists()


@pytest.mark.endurance
def test_an_import_that_is_killed_at_any_step_is_repeated(tmp_path: Path) -> None:
    ids, kills = [f"many-{number:02}" for number in range(40)], times(10)
    name = lines(tmp_path, *ids)

    def importing(folder: str) -> list[str]:
        return [
            "import",
            str(tmp_path / name),
            f"--skills-dir={tmp_path}/{folder}/skills",
            f"--data-dir={tmp_path}/{folder}",
        ]

    taken = steps(tmp_path, *importing("whole"))
    for number in range(kills):
        folder = f"killed-{number}"
        steps(tmp_path, *importing(folder), kill_at=taken - number * taken // kills)
        done = Done(tmp_path, *importing(folder), "--skip-existing", "--json")
        assert (done.code, done.json["created"] + done.json["existing"]) == (0, len(ids)), done.out
        stores = [f"--skills-dir={tmp_path}/{folder}/skills", f"--data-dir={tmp_path}/{folder}", "--json"]
        assert [skill["id"] for skill in Done(tmp_path, "list", "--limit=100", *stores).json["skills"]] == ids
        assert Done(tmp_path, "fsck", *stores).json["drift"] == []
        assert sorted(path.parent.name for path in (tmp_path / folder).rglob("SKILL.md")) == ids
