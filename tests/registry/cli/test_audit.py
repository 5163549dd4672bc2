"""`audit`: two real services and a project, whose registry withdraws, freezes, forks, or is gone."""

import json
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from registry.domain.api import API
from support.commands import Done
from support.ports import free_port
from support.publishing import Registry, bare_repository, skill_package
from support.spoiling_proxy import Passed, SpoilingProxy

WHY, INSTEAD = "it reads the keys of its user", "acme/coffee@^2"
NOTE = {"reason": WHY, "replacement": INSTEAD}


class Project(NamedTuple):
    """A registry, and a project that has locked `acme/tea` and `acme/ocr` of it, by way of a URL."""

    registry: Registry
    folder: Path
    url: str

    def run(self, *arguments: str) -> Done:
        """Run a command in the project."""
        token = self.registry.caller("reader", "user")["Authorization"].removeprefix("Bearer ")
        environment = {"SKILL_REGISTRY_CLIENT_API_KEY": token, "SKILL_REGISTRY_SERVER": self.url}
        return Done(self.folder, *arguments, **environment)

    def read(self, *arguments: str) -> Done:
        """Run a command that reads the data directory of the project."""
        return self.run(*arguments, "--data-dir", ".skill-registry")

    def change(self, path: str, body: Any = NOTE) -> None:
        """Withdraw or restore something, as an administrator."""
        admin = self.registry.caller("acme/root", "admin")
        self.registry.http.post(f"{API}/registry/skills/{path}", json=body, headers=admin).raise_for_status()


def project_of(registry: Registry, folder: Path, url: str) -> Project:
    folder.mkdir()
    (folder / "skill-project.toml").write_text("[dependencies]\n")
    project = Project(registry, folder, url)
    for name in ("tea", "ocr"):
        done = project.run("install", f"acme/{name}")
        assert done.code == 0, done.error
    return project


def publish(registry: Registry, *names: str) -> None:
    for named in names:
        name, _, version = named.partition("@")
        job = registry.finished(registry.publish(skill_package(name, version or "1.0.0")))
        assert job["status"] == "accepted", job


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with Registry(tmp_path / "registry") as registry:
        publish(registry, "first", "tea", "ocr")
        yield project_of(registry, tmp_path / "project", registry.url)


def test_what_is_withdrawn_is_said_with_reason_and_replacement(project: Project) -> None:
    clean = project.run("audit")
    assert (clean.code, "Withdrawn: 0 of 2" in clean.out) == (0, True), clean.out + clean.error
    publish(project.registry, "other", "tea@1.1.0")
    project.change("acme/tea/1.0.0/revoke")
    project.change("acme/ocr/deprecate", {"reason": "no longer maintained"})
    project.change("acme/tea/1.1.0/yank")
    done = project.run("audit")
    words = " ".join(done.out.split())
    assert done.code == 1, done.out + done.error
    assert "version 1.0.0 was revoked on" in words
    assert f": {WHY}; use {INSTEAD} instead" in words
    assert "ocr: the skill was deprecated on" in words
    report = project.run("audit", "--json")
    found = {skill["id"]: skill["withdrawn"] for skill in report.json["withdrawn"]}
    assert (report.code, found["tea"]["reason"], found["ocr"]["state"]) == (1, WHY, "deprecated")
    assert (report.json["unclear"], report.json["from_registries"]) == ({}, 2)
    verified = project.run("verify", "--log")
    assert verified.code == 0, verified.out  # it stays offline
    project.change("acme/ocr/undeprecate", None)
    assert [skill["id"] for skill in project.run("audit", "--json").json["withdrawn"]] == ["tea"]


def test_without_a_project_the_commands_tell_of_withdrawn_skills_too(project: Project) -> None:
    folder = project.folder / "plain"
    folder.mkdir()
    plain = project._replace(folder=folder)
    assert plain.run("install", "acme/tea@1.0.0").code == 0
    assert not (folder / "skills.lock").exists()
    publish(project.registry, "tea@0.9.0")
    project.change("acme/tea/1.0.0/revoke")
    for arguments in (("install", "acme/tea"), ("upgrade",), ("outdated",), ("upgrade", "tea", "--check")):
        done = plain.run(*arguments)
        assert "warning: tea: version 1.0.0 was revoked on" in done.error, (arguments, done.out, done.error)
        assert WHY in done.error


@pytest.mark.parametrize("asking", [("audit",), ("outdated",), ("install",)])
def test_what_a_command_has_learnt_is_told_later_without_a_question(project: Project, asking: tuple[str, ...]) -> None:
    project.change("acme/tea/1.0.0/revoke")
    assert "revoked" not in project.read("list").error
    project.run(*asking)
    listed = project.read("list")
    assert "warning: tea: version 1.0.0 was revoked on" in listed.error, listed.error
    assert (WHY in listed.error, "ocr:" in listed.error) == (True, False)
    (tea,) = [skill for skill in project.read("list", "--json").json["skills"] if skill["id"] == "tea"]
    assert tea["withdrawn"]["reason"] == WHY
    assert [line.split("\t")[-1] for line in listed.out.splitlines() if line.startswith("tea\t")] == ["revoked"]
    searched = project.read("search", "tea", "--installed")
    assert [line.split("\t")[-1] for line in searched.out.splitlines() if line.startswith("tea\t")] == ["revoked"]
    (tea,) = [hit["skill"] for hit in project.read("search", "tea", "--installed", "--json").json["skills"]]
    assert tea["withdrawn"]["reason"] == WHY
    assert "revoked: version 1.0.0 was revoked on" in project.read("show", "tea").out
    assert project.read("generate", "agents").out.startswith("1 skill")
    assert "tea" not in (project.folder / "AGENTS.md").read_text()
    project.registry.stop()
    for arguments in (asking, ("list", "--data-dir", ".skill-registry")):
        done = Done(project.folder, *arguments, SKILL_REGISTRY_SERVER=project.url)
    assert WHY in done.error  # a registry that cannot be asked changes nothing


def test_a_restored_version_is_no_longer_told_of(project: Project) -> None:
    project.change("acme/tea/1.0.0/yank")
    project.run("audit")
    assert "yanked" in project.read("list").error
    project.change("acme/tea/1.0.0/unyank", None)
    project.run("audit")
    assert "yanked" not in project.read("list").error


def test_a_skill_that_was_deprecated_before_it_was_locked_counts(tmp_path: Path) -> None:
    with Registry(tmp_path / "registry") as registry:
        publish(registry, "tea", "ocr")
        admin = registry.caller("acme/root", "admin")
        registry.http.post(f"{API}/registry/skills/acme/tea/deprecate", json=NOTE, headers=admin).raise_for_status()
        publish(registry, "tea@1.1.0", "ocr@1.1.0")
        project = project_of(registry, tmp_path / "project", registry.url)
        done = project.run("audit", "--json")
        assert (done.code, [skill["id"] for skill in done.json["withdrawn"]]) == (1, ["tea"]), done.out


def test_sarif_names_the_line_of_the_lock(project: Project) -> None:
    project.change("acme/tea/1.0.0/yank")
    done = project.run("audit", "--format", "sarif")
    (result,) = done.json["runs"][0]["results"]
    location = result["locations"][0]["physicalLocation"]
    line = location["region"]["startLine"]
    assert (done.code, result["ruleId"], result["level"]) == (1, "yanked", "error")
    assert location["artifactLocation"]["uri"] == "skills.lock"
    assert (project.folder / "skills.lock").read_text().splitlines()[line - 1] == 'id = "tea"'
    assert WHY in result["message"]["text"]


def test_a_registry_that_is_gone_or_refuses_gives_2(project: Project) -> None:
    refused = Done(project.folder, "audit", SKILL_REGISTRY_SERVER=project.url)
    assert (refused.code, "cannot tell" in refused.out) == (2, True), refused.out + refused.error
    project.registry.stop()
    gone = Done(project.folder, "audit", "--json", SKILL_REGISTRY_SERVER=project.url)
    assert (gone.code, list(gone.json["unclear"])) == (2, [project.url]), gone.out


def test_a_lock_that_is_missing_and_a_wrong_age_are_said(tmp_path: Path) -> None:
    done = Done(tmp_path, "audit")
    assert (done.code, "there is no skills.lock" in done.error) == (2, True)
    (tmp_path / "skills.lock").write_text("version = 1\n")
    for age in ("soon", "1", "-1d", "1w", "999999999d"):
        assert Done(tmp_path, "audit", "--max-age", age).code == 2
    assert Done(tmp_path, "audit", "--max-age", "any").code == 0


def frozen(kept: dict[str, Passed]) -> Callable[[Passed], Passed]:
    """Answer every question about the log, and about advisories, as it was answered first."""

    def spoil(passed: Passed) -> Passed:
        is_log = passed.path.startswith((f"{API}/log/checkpoint", f"{API}/registry/advisories"))
        return kept.setdefault(passed.path, passed) if is_log else passed

    return spoil


def test_a_log_that_is_frozen_gives_2_when_it_is_too_old(tmp_path: Path) -> None:
    with Registry(tmp_path / "registry") as registry:
        publish(registry, "first", "tea", "ocr")
        with SpoilingProxy(registry.url, frozen({})) as proxy:
            project = project_of(registry, tmp_path / "project", proxy.url)
            assert project.run("audit").code == 0
            project.change("acme/tea/1.0.0/revoke")
            assert project.run("audit").code == 0  # young enough
            done = project.run("audit", "--max-age", "0s")
            assert (done.code, "an old copy" in done.out) == (2, True), done.out


def without_time(passed: Passed) -> Passed:
    """Leave out the line of the checkpoint that signs the time."""
    if not passed.path.startswith(f"{API}/log/checkpoint"):
        return passed
    kept = passed.body.split(b"\n")[:5]
    return passed._replace(body=b"\n".join([*kept, b""]))


def test_a_checkpoint_without_its_time_gives_2(tmp_path: Path) -> None:
    with Registry(tmp_path / "registry") as registry:
        publish(registry, "first", "tea", "ocr")
        with SpoilingProxy(registry.url, without_time) as proxy:
            project = project_of(registry, tmp_path / "project", proxy.url)
            done = project.run("audit")
            assert (done.code, "has no time" in " ".join(done.out.split())) == (2, True), done.out
            assert project.run("audit", "--max-age", "any").code == 0


def entries_changed(change: Callable[[list[str]], list[str]]) -> Callable[[Passed], Passed]:
    def spoil(passed: Passed) -> Passed:
        if not passed.path.startswith(f"{API}/log/entries"):
            return passed
        answer = json.loads(passed.body)
        answer["data"]["entries"] = change(answer["data"]["entries"])
        return passed._replace(body=json.dumps(answer).encode())

    return spoil


@pytest.mark.parametrize(
    "change",
    [
        lambda entries: [entry for entry in entries if '"revoke"' not in entry],
        lambda entries: [entry.replace(WHY, "for fun") for entry in entries],
        lambda entries: entries[::-1],
        lambda entries: [],
    ],
    ids=["left out", "changed", "in another order", "none"],
)
def test_entries_that_were_changed_on_the_way_give_2(tmp_path: Path, change: Callable[[list[str]], list[str]]) -> None:
    with Registry(tmp_path / "registry") as registry:
        publish(registry, "first", "tea", "ocr")
        spoilers: list[Callable[[Passed], Passed]] = []
        with SpoilingProxy(registry.url, lambda passed: spoilers[0](passed) if spoilers else passed) as proxy:
            project = project_of(registry, tmp_path / "project", proxy.url)
            project.change("acme/tea/1.0.0/revoke")
            publish(registry, "later")
            assert project.run("audit").code == 1
            spoilers.append(entries_changed(change))
            done = project.run("audit", "--json")
            assert (done.code, done.json["withdrawn"]) == (2, []), done.out


def test_a_reason_that_was_changed_in_the_database_and_a_fork_give_2(project: Project) -> None:
    project.change("acme/tea/1.0.0/revoke")
    assert project.run("audit").code == 1
    project.registry.stop()
    with closing(sqlite3.connect(project.registry.data_dir / "skill-registry.db")) as database, database:
        sql = "update log_entries set entry = replace(entry, ?, 'for fun') where withdraws is not null"
        assert database.execute(sql, (WHY,)).rowcount == 1
    project.registry.start()
    again = Project(project.registry, project.folder, project.registry.url)
    lock = project.folder / "skills.lock"
    lock.write_text(lock.read_text().replace(project.url, again.url))
    done = again.run("audit")
    assert (done.code, "not those that it has signed" in " ".join(done.out.split())) == (2, True), done.out


def test_install_and_upgrade_warn_and_upgrade_check_fails_where_there_is_something_newer(project: Project) -> None:
    project.change("acme/tea/1.0.0/yank")
    present = project.run("install", "--locked")
    assert (present.code, "version 1.0.0 was yanked on" in present.error, WHY in present.error) == (0, True, True)
    upgrade = project.run("upgrade", "ocr", "--check")
    assert (upgrade.code, "tea: version 1.0.0 was yanked" in upgrade.error) == (0, True), upgrade.error
    publish(project.registry, "ocr@1.1.0")
    assert project.run("upgrade", "ocr", "--check").code == 1
    assert project.run("upgrade", "ocr").code == 0
    exact = project.run("install", "acme/first@1.0.0")
    assert "yanked" in exact.error  # of tea, not of what was installed
    fresh = project.folder.with_name("fresh")
    fresh.mkdir()
    (fresh / "skills.lock").write_text((project.folder / "skills.lock").read_text())
    locked = project._replace(folder=fresh).run("install", "--locked")
    assert (locked.code, locked.error.count("version 1.0.0 was yanked on")) == (0, 1), locked.error
    project.registry.stop()
    alone = Done(project.folder, "install", "--locked", SKILL_REGISTRY_SERVER=project.url)
    assert (alone.code, "cannot be told" in alone.error) == (0, True), alone.error


def test_all_versions_withdrawn_is_a_plain_message(project: Project) -> None:
    project.change("acme/ocr/1.0.0/yank")
    done = project.run("upgrade", "ocr")
    assert "that is not yanked" not in done.out + done.error
    assert "every version was withdrawn. The last one, 1.0.0, was yanked" in " ".join(done.error.split()), done.error


def test_findings_that_are_others_than_in_the_lock_are_listed(project: Project) -> None:
    lock = project.folder / "skills.lock"
    assert 'risk = "none"' in lock.read_text()
    former = 'risk = "low", rules = ["old-rule"]'
    lock.write_text(re.sub(r'risk = "none"(, rules = \[[^]]*\])?', former, lock.read_text(), count=1))
    done = project.run("audit", "--json")
    assert (done.code, len(done.json["changed"])) == (0, 1), done.error
    (changed,) = done.json["changed"]
    assert (changed["before"], changed["risk"], changed["gone"]) == ("low", "none", ["old-rule"])
    assert project.run("verify", "--log").code == 0


def test_a_registry_that_signs_a_second_history_is_no_witness(tmp_path: Path) -> None:
    registry = Registry(tmp_path / "registry", "--port", str(free_port()))
    with registry:
        publish(registry, "first")
    older = (registry.data_dir / "skill-registry.db").read_bytes()
    with registry:
        publish(registry, "tea", "ocr")
        project = project_of(registry, tmp_path / "project", registry.url)
    # Its operator restores the older database, and removes what would tell the registry of the later one.
    for folder in (registry.data_dir / "registry-index", registry.remote):
        shutil.rmtree(folder)
    for name in ("-wal", "-shm"):
        (registry.data_dir / f"skill-registry.db{name}").unlink(missing_ok=True)
    (registry.data_dir / "skill-registry.db").write_bytes(older)
    bare_repository(registry.remote)
    with registry:
        publish(registry, "other", "more", "third")
        done = project.run("audit")
        assert done.code == 2, done.out + done.error
        assert f"{registry.url}: its log was forked" in done.out
