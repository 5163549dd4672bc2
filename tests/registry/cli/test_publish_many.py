"""`publish` of many skills, as an author of a repository of skills does on each push."""

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


def versioned(root: Path, name: str, version: str = "1.0.0", body: str = "# Body\n") -> Path:
    return write_skill(root, name, f"Does {name} for tables.", body, version=version)


def statuses(done: Done) -> dict[str, str]:
    return {Path(result["path"]).name: result["status"] for result in done.json["results"]}


def test_each_skill_of_a_folder_is_published_and_then_only_what_is_new(registry: Registry, tmp_path: Path) -> None:
    skills = tmp_path / "skills"
    for name in ("one", "two", "deep/three"):
        versioned(skills, name)
    (skills / "README.md").write_text("About these skills.\n")
    first = run(tmp_path, registry, "publish", "--all", "skills")
    assert (first.code, sorted(first.out.splitlines())) == (
        0,
        ["published: acme/one 1.0.0", "published: acme/three 1.0.0", "published: acme/two 1.0.0"],
    )
    versioned(skills, "two", "1.1.0", "# More\n")
    again = run(tmp_path, registry, "publish", "--all", "skills", "--json")
    assert (again.code, statuses(again)) == (0, {"one": "unchanged", "three": "unchanged", "two": "accepted"})
    installs = {result["install"] for result in again.json["results"]}
    assert f"skill-registry install acme/one --from {registry.url}" in installs


def test_one_that_fails_keeps_no_other_from_being_published(registry: Registry, tmp_path: Path) -> None:
    versioned(tmp_path, "fits-a")
    write_skill(tmp_path, "bad-name--", "Has a name that breaks the format.")
    (versioned(tmp_path, "secretive") / ".env").write_text("KEY=1\n")
    versioned(tmp_path, "fits-z")
    done = run(tmp_path, registry, "publish", "--all", ".", "--json")
    assert (done.code, statuses(done)) == (
        1,
        {"bad-name--": "failed", "fits-a": "accepted", "fits-z": "accepted", "secretive": "failed"},
    )
    reasons = {Path(result["path"]).name: result.get("message", "") for result in done.json["results"]}
    assert ".env may hold secrets" in reasons["secretive"]


def test_other_files_under_a_published_version_are_named(registry: Registry, tmp_path: Path) -> None:
    skill = versioned(tmp_path, "changing")
    assert run(tmp_path, registry, "publish", "changing").code == 0
    same = run(tmp_path, registry, "publish", "changing")
    assert (same.code, "is published already, with the same files" in same.out) == (0, True)
    (skill / "notes.md").write_text("New.\n")
    done = run(tmp_path, registry, "publish", "changing")
    assert (done.code, "other files (notes.md): raise the version" in done.error) == (1, True)


def test_a_zip_of_the_same_files_is_unchanged_and_a_withdrawn_version_is_named(
    registry: Registry, tmp_path: Path
) -> None:
    package = tmp_path / "packed.zip"
    package.write_bytes(skill_package("packed", "1.0.0"))
    assert run(tmp_path, registry, "publish", "packed.zip").code == 0
    assert "Unchanged: acme/packed 1.0.0" in run(tmp_path, registry, "publish", "packed.zip").out
    yanked = registry.http.delete("/api/v1/skills/acme/packed/versions/1.0.0", headers=registry.caller())
    assert yanked.status_code == 200, yanked.text
    done = run(tmp_path, registry, "publish", "packed.zip")
    assert (done.code, "1.0.0 is withdrawn" in done.error) == (1, True)


def test_a_folder_of_skills_needs_the_option(registry: Registry, tmp_path: Path) -> None:
    for name in ("unasked-a", "unasked-b"):
        versioned(tmp_path / "skills", name)
    done = run(tmp_path, registry, "publish", "skills")
    assert (done.code, "skills is a folder of skills: --all publishes each of them" in done.error) == (1, True)
    assert registry.get("/api/skills/acme/unasked-a").status_code == 404


def test_a_dry_run_publishes_nothing(registry: Registry, tmp_path: Path) -> None:
    for name in ("planned-a", "planned-b"):
        versioned(tmp_path / "skills", name)
    many = run(tmp_path, registry, "publish", "--dry-run", "--all", "skills")
    assert (many.code, many.out.splitlines()) == (
        0,
        ["would be published: acme/planned-a 1.0.0", "would be published: acme/planned-b 1.0.0"],
    )
    assert (
        "Would publish acme/planned-a 1.0.0" in run(tmp_path, registry, "publish", "--dry-run", "skills/planned-a").out
    )
    assert registry.get("/api/skills/acme/planned-a").status_code == 404


def test_without_a_valid_credential_the_others_are_not_sent(registry: Registry, tmp_path: Path) -> None:
    for name in ("lone-a", "lone-b"):
        versioned(tmp_path / "skills", name)
    done = Done(
        tmp_path, "publish", "--all", "skills", "--server", registry.url, SKILL_REGISTRY_CLIENT_API_KEY="not-a-key"
    )
    assert done.code == 1
    assert "lone-b: not sent: " in done.out


@pytest.mark.endurance
def test_a_registry_that_takes_few_packages_a_minute_is_waited_for(tmp_path: Path) -> None:
    for name in ("slow-a", "slow-b", "slow-c"):
        versioned(tmp_path / "skills", name)
    with Registry(tmp_path / "registry", "--limits-publishes-per-minute", "120") as registry:
        for _ in range(119):  # all but one of this minute
            registry.publish(b"no zip")
        done = run(tmp_path, registry, "publish", "--all", "skills", "--json")
    assert (done.code, set(statuses(done).values())) == (0, {"accepted"}), done.error
