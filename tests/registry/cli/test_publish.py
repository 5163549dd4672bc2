"""The commands that publish, against a real registry."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.commands import Done
from support.publishing import Registry, run, skill_package
from support.servers import write_skill


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    folder: Path = tmp_path_factory.mktemp("registry")
    with Registry(folder) as running:
        yield running


def test_a_folder_is_published(registry: Registry, tmp_path: Path) -> None:
    skill = write_skill(tmp_path, "from-folder", "Comes from a folder of its author.")
    done = run(tmp_path, registry, "publish", str(skill), "--json")
    job = done.json
    assert (done.code, job["status"], job["skill_id"]) == (0, "accepted", "acme/from-folder")
    again = run(tmp_path, registry, "publish", str(skill), "--json")
    assert (again.code, again.json["status"], again.json["skill_id"]) == (0, "unchanged", "acme/from-folder")
    (skill / "notes.md").write_text("New.\n")
    run(tmp_path, registry, "publish", str(skill)).complains(1, "acme/from-folder", "already", "notes.md")


def test_a_zip_is_published_as_it_is_and_yanked(registry: Registry, tmp_path: Path) -> None:
    package = tmp_path / "package.zip"
    package.write_bytes(skill_package("from-zip"))
    assert run(tmp_path, registry, "publish", str(package)).code == 0
    assert registry.get("/packages/acme/from-zip/1.0.0.zip").content == package.read_bytes()
    assert run(tmp_path, registry, "yank", "acme/from-zip@1.0.0").code == 0
    assert registry.get("/api/skills/acme/from-zip").status_code == 404
    assert run(tmp_path, registry, "unyank", "acme/from-zip@1.0.0").code == 0
    assert registry.get("/api/skills/acme/from-zip").status_code == 200


def test_what_is_refused_says_why(registry: Registry, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    run(tmp_path, registry, "publish", str(empty)).complains(1, "SKILL.md")
    program = tmp_path / "program.zip"
    program.write_bytes(skill_package("program", files={"run": b"\x7fELF" + bytes(60)}))
    done = run(tmp_path, registry, "publish", str(program))
    assert (done.code, "security_issue" in done.out, "rejected" in done.error) == (1, True, True)
    skill = write_skill(tmp_path, "lowly", "Is of a user who may only read.")
    run(tmp_path, registry, "publish", str(skill), role="user").complains(1, "manager")
    run(tmp_path, registry, "yank", "from-zip").complains(2, "scope/name@1.0.0")


def test_a_package_waits_for_a_review_and_another_manager_decides(tmp_path: Path) -> None:
    with Registry(tmp_path / "held", env={"SKILL_REGISTRY_PUBLISH_HOLD": "all"}) as registry:

        def call(who: str, *args: str) -> Done:
            token = registry.caller(who)["Authorization"].removeprefix("Bearer ")
            return Done(tmp_path, *args, "--server", registry.url, SKILL_REGISTRY_CLIENT_API_KEY=token)

        skill = write_skill(tmp_path, "reviewed", "Comes from a folder of its author.")
        done = call("acme/ann", "publish", str(skill))
        assert (done.code, ": held" in done.out) == (0, True)
        assert "skill-registry reviews approve" in done.error
        (waiting,) = call("acme/bob", "reviews", "list", "--json").json["reviews"]
        assert (waiting["skill_id"], waiting["uploaded_by"]) == ("acme/reviewed", "acme/ann")
        shown = call("acme/bob", "reviews", "show", waiting["job_id"], "--diff")
        assert (shown.code, "added SKILL.md" in shown.out, "+# Body" in shown.out) == (0, True, True)
        call("acme/ann", "reviews", "approve", waiting["job_id"], "--reason", "Mine.").complains(1, "another manager")
        assert call("acme/bob", "reviews", "approve", waiting["job_id"], "--reason", "It was read.").code == 0
        registry.wait_for(lambda: registry.get("/api/v1/skills/acme/reviewed").status_code == 200)
        package = tmp_path / "next.zip"
        package.write_bytes(skill_package("reviewed", "1.1.0", "# Other\n"))
        job = call("acme/ann", "publish", str(package), "--json").json
        changes = call("acme/bob", "reviews", "show", job["job_id"], "--diff").out
        assert ("changed SKILL.md" in changes, "-# Body" in changes, "+# Other" in changes) == (True, True, True)
        rejected = call("acme/bob", "reviews", "reject", job["job_id"], "--reason", "Not now.")
        assert (rejected.code, "is rejected" in rejected.out) == (0, True)
        assert "No package waits" in call("acme/bob", "reviews", "list").out
