"""The commands that publish, against a real registry."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.commands import Done
from support.publishing import Registry, run, skill_package
from support.servers import write_skill
from support.spoiling_proxy import Passed, SpoilingProxy


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
    run(tmp_path, registry, "publish", str(skill / "SKILL.md")).complains(
        1, "acme/from-folder", "already", "notes.md", "such as to 1.0.1, below 'metadata' in SKILL.md"
    )


def test_a_version_below_a_published_one_is_told_of(registry: Registry, tmp_path: Path) -> None:
    package = tmp_path / "package.zip"
    for version, told in (("1.10.0", ""), ("1.9.0", "acme/stepping 1.10.0 is higher: it stays what installations get")):
        package.write_bytes(skill_package("stepping", version))
        done = run(tmp_path, registry, "publish", str(package))
        assert (done.code, "is higher" in done.error) == (0, bool(told))
        assert told in done.error


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


@pytest.mark.parametrize("status", [0, 502, 504])
@pytest.mark.parametrize("lost", ["POST /api/v1/registry/publish", "GET /api/v1/registry/publish/"])
def test_an_answer_that_a_proxy_loses_fails_no_publish(
    registry: Registry, tmp_path: Path, status: int, lost: str
) -> None:
    name = f"lost-{lost.partition(' ')[0].lower()}-{status}"
    skill = write_skill(tmp_path, name, "Comes from a folder of its author.")
    losses = iter((True, True))

    def lose(answer: Passed) -> Passed:
        is_lost = f"{answer.method} {answer.path}".startswith(lost) and next(losses, False)
        return answer._replace(status=status, headers={}, body=b"<html>") if is_lost else answer

    with SpoilingProxy(registry.url, lose) as proxy:
        done = run_at(proxy.url, tmp_path, registry, "publish", str(skill))
    assert (done.code, f"Published acme/{name} 1.0.0" in done.out) == (0, True), done.error
    assert "trying again in 0.5 s" in done.error


def test_an_answer_that_stays_lost_says_that_it_may_be_published(registry: Registry, tmp_path: Path) -> None:
    skill = write_skill(tmp_path, "never-answered", "Comes from a folder of its author.")

    def lose(answer: Passed) -> Passed:
        return answer._replace(status=504, headers={}, body=b"") if answer.method == "POST" else answer

    with SpoilingProxy(registry.url, lose) as proxy:
        done = run_at(proxy.url, tmp_path, registry, "publish", str(skill))
    assert (done.code, "504" in done.error, "It may be published all the same" in done.error) == (1, True, True)
    again = run(tmp_path, registry, "publish", str(skill), "--json")
    assert (again.code, again.json["status"]) == (0, "unchanged")


def test_a_registry_that_goes_away_with_the_package_may_have_published_it(registry: Registry, tmp_path: Path) -> None:
    skill = write_skill(tmp_path, "gone-away", "Comes from a folder of its author.")

    def go_away(answer: Passed) -> Passed:
        if answer.method != "POST":
            return answer
        proxy.stop()
        return answer._replace(status=0)

    with SpoilingProxy(registry.url, go_away) as proxy:
        done = run_at(proxy.url, tmp_path, registry, "publish", str(skill))
    assert (done.code, done.error.count("trying again")) == (1, 3)
    assert "It may be published all the same" in done.error


def run_at(url: str, folder: Path, registry: Registry, *args: str) -> Done:
    """Run a command as `run` does, through a proxy before the registry."""
    token = registry.caller()["Authorization"].removeprefix("Bearer ")
    return Done(folder, *args, "--server", url, SKILL_REGISTRY_CLIENT_API_KEY=token)
