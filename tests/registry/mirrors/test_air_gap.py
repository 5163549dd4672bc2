"""An export of a mirror is carried to a service that reaches no registry, and its developers install from it."""

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from support.commands import Done, steps
from support.mirrors import MirrorService, Upstream
from support.parties import Developer
from support.servers import RunningServer
from support.waiting import wait_until


class Gap(NamedTuple):
    """The key of the registry, an export of its mirror and a later one, and a service that reaches nothing.

    `listed` is what the exporting service listed of the registry at the first export.
    """

    key: str
    exported: Path
    later: Path
    listed: dict[str, Any]
    upstream: Upstream
    service: MirrorService
    env: dict[str, str]

    def take(self, folder: Path, *args: str) -> Done:
        """Import a folder at the service."""
        return Done(self.service.data_dir, "mirror", "corp", "--import", str(folder), *args, **self.env)

    def forget(self) -> None:
        """Remove all that the service keeps."""
        shutil.rmtree(self.service.data_dir / "mirrored", ignore_errors=True)


@pytest.fixture(scope="module")
def gap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gap]:
    folder = tmp_path_factory.mktemp("gap")
    exported = folder / "carried"
    with Upstream(folder / "upstream") as upstream, MirrorService(folder / "mirror", upstream) as mirror:
        upstream.release("tea", files={"notes.md": b"Steep for three minutes."})
        for name in ("water", "leaky"):
            upstream.release(name)
        mirror.follow(upstream)
        env = {
            "SKILL_REGISTRY_DATA_DIR": str(mirror.data_dir),
            "SKILL_REGISTRY_OUTBOUND_ALLOWED_HOSTS": upstream.address.removeprefix("http://"),
        }
        assert Done(folder, "mirror", "corp", "--all", **env).code == 0
        upstream.withdraw("revoke", "leaky")
        done = Done(folder, "mirror", "corp", "--all", "--export", str(exported), "--json", **env)
        assert done.code == 0, done.error
        assert (done.json["exported"]["packages"], done.json["exported"]["skills"]) == (2, 3)
        wait_until(lambda: len(listed(mirror)) == 2)
        online = listed(mirror)
        Done(folder, "mirror", "corp", "--export", str(exported), **env).complains(1, "exists")
        key = upstream.get("/api/v1/log/key").json()["data"]["key"]
        upstream.release("tea", "1.1.0")
        upstream.withdraw("yank", "water")
        later = folder / "later"
        done = Done(folder, "mirror", "corp", "--all", "--export", str(later), **env)
        assert done.code == 0, done.error
        address, api_key = upstream.address, upstream.new_key()
    source = {"name": "corp", "type": "registry", "url": address, "mirror": True, "api_key": api_key}
    sources = {"SKILL_REGISTRY_SOURCES": json.dumps([source])}
    with MirrorService(folder / "alone", upstream, env=sources) as service:
        env = {**sources, "SKILL_REGISTRY_DATA_DIR": str(service.data_dir)}
        yield Gap(key, exported, later, online, upstream, service, env)


def listed(service: RunningServer, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return each skill of the source in full, without the times of its entry here, by its id."""
    headers = headers or (service.caller("reader", "user") if isinstance(service, MirrorService) else {})
    skills = service.api("GET", "/skills?source=corp", headers=headers).json()["data"]
    answers = [service.api("GET", f"/skills/{skill['id']}", headers=headers) for skill in skills]
    details = [answer.json()["data"] for answer in answers if answer.status_code == 200]  # or it was removed meanwhile
    return {detail["id"]: {**detail, "created_at": None, "updated_at": None} for detail in details}


def test_an_export_is_installed_from_without_a_network(gap: Gap, tmp_path: Path) -> None:
    done = gap.take(gap.exported, "--key", gap.key, "--json")
    assert done.code == 0, done.error
    assert done.json["imported"] == {**done.json["imported"], "skills": 3, "packages": 2}
    developer = Developer(tmp_path / "developer", gap.service, gap.service.new_key())
    for name in ("tea", "water"):
        installed = developer.run("install", f"acme/{name}")
        assert installed.code == 0, installed.error
    assert developer.run("verify", "--log", "--key", gap.key).code == 0
    refused = developer.run("install", "acme/leaky@1.0.0")
    assert (refused.code, "revoked" in refused.error) == (1, True)
    assert gap.take(gap.exported).code == 0


def test_what_was_imported_is_found_and_listed_as_online(gap: Gap) -> None:
    assert gap.take(gap.exported, "--json").json["imported"]["listed"] == 2
    reader = gap.service.caller("reader", "user")
    wait_until(lambda: len(listed(gap.service)) == 2)
    assert listed(gap.service) == gap.listed
    found = gap.service.api("POST", "/search", json={"query": "tea"}, headers=reader).json()["data"]
    assert [hit["skill"]["id"] for hit in found["skills"]] == ["corp/acme.tea"]
    chosen = gap.service.api("POST", "/resolve", json={"prompt": "make some tea"}, headers=reader)
    assert "corp/acme.tea" in chosen.text
    sources = gap.service.api("GET", "/registry/sources", headers=reader).json()["data"]
    (corp,) = (source for source in sources if source["name"] == "corp")
    assert (corp["skills"], corp["mirror"]) == (2, True)


def test_the_files_of_what_is_kept_are_read_before_it_is_installed(gap: Gap) -> None:
    gap.forget()
    assert gap.take(gap.exported).code == 0
    reader = gap.service.caller("reader", "user")
    wait_until(lambda: "corp/acme.tea" in listed(gap.service))

    def get_skill(**arguments: str) -> str:
        call = {"name": "get_skill", "arguments": {"id": "corp/acme.tea", **arguments}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        return str(gap.service.http.post("/mcp", json=body, headers=reader).json()["result"]["content"][0]["text"])

    text = get_skill()
    for words in ("# Body", "not installed", "not scanned", "notes.md (24 bytes)", f"--from {gap.service.address}`"):
        assert words in text
    assert get_skill(file="notes.md") == "Steep for three minutes."
    assert "no file 'other.md'" in get_skill(file="other.md")
    path = "/skills/corp/acme.tea/versions/1.0.0/files/notes.md"
    assert gap.service.api("GET", path, headers=reader).text == "Steep for three minutes."
    gap.forget()
    assert "listed by the source corp and not installed" in get_skill()
    assert gap.service.api("GET", path, headers=reader).status_code == 404


def test_a_local_service_installs_what_it_has_imported(gap: Gap, tmp_path: Path) -> None:
    local = RunningServer(tmp_path, env=gap.env | {"SKILL_REGISTRY_DATA_DIR": ""})
    local.manifest.write_text("[dependencies]\n")
    with local:
        env = gap.env | {"SKILL_REGISTRY_DATA_DIR": str(local.data_dir)}
        done = Done(tmp_path, "mirror", "corp", "--import", str(gap.exported), "--key", gap.key, **env)
        assert done.code == 0, done.error
        wait_until(lambda: "corp/acme.tea" in local.found("tea"))
        made = local.api("POST", "/skills", json={"origin": "corp/acme.tea"})
        assert (made.status_code, made.json()["data"]["id"]) == (201, "tea"), made.text
        call = {"name": "install_skill", "arguments": {"id": "corp/acme.water"}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        answer = local.http.post("/mcp", json=body).json()["result"]
        assert (answer["isError"], "Installed water 1.0.0" in answer["content"][0]["text"]) == (False, True), answer
        verified = Done(tmp_path, "verify", "--log", "--key", gap.key, "--skills-dir", str(local.skills_dir), **env)
        assert (verified.code, "2 of 2" in verified.out) == (0, True), verified.out + verified.error
        assert Done(tmp_path, "mirror", "corp", "--import", str(gap.later), **env).code == 0
        wait_until(lambda: local.api("GET", "/skills/water").json()["data"].get("withdrawn"))
        upgraded = local.api("POST", "/skills/upgrade", json={"skill_id": "tea"}).json()["data"]["results"]
        assert [row["resolved_version"] for row in upgraded] == ["1.1.0"]


def test_a_later_import_brings_the_list_up_to_date(gap: Gap) -> None:
    for folder in (gap.exported, gap.later, gap.exported):
        assert gap.take(folder).code == 0
    wait_until(lambda: list(listed(gap.service)) == ["corp/acme.tea"])
    assert listed(gap.service)["corp/acme.tea"]["version"] == "1.1.0"


def test_a_skill_without_its_package_is_a_warning_of_the_source(gap: Gap, tmp_path: Path) -> None:
    part = tmp_path / "part"
    shutil.copytree(gap.exported, part)
    for package in (part / "packages").rglob("*"):
        if package.is_file():
            package.unlink()
    with MirrorService(tmp_path / "other", gap.upstream, env=gap.env) as other:
        env = gap.env | {"SKILL_REGISTRY_DATA_DIR": str(other.data_dir)}
        done = Done(tmp_path, "mirror", "corp", "--import", str(part), "--json", **env)
        assert (done.code, done.json["imported"]["listed"]) == (0, 0), done.error
        sources = other.api("GET", "/registry/sources", headers=other.caller("reader", "user")).json()["data"]
        (corp,) = (source for source in sources if source["name"] == "corp")
        assert [warning.partition(":")[0] for warning in corp["warnings"]] == [
            "'acme/tea' was skipped",
            "'acme/water' was skipped",
        ]
        assert listed(other) == {}


def test_a_changed_byte_of_an_export_is_refused_before_anything_is_kept(gap: Gap, tmp_path: Path) -> None:
    gap.forget()
    names = [path.relative_to(gap.exported) for path in gap.exported.rglob("*") if path.is_file()]
    assert len(names) == 8
    for number, name in enumerate(names):
        copy = tmp_path / f"copy-{number}"
        shutil.copytree(gap.exported, copy)
        content = (copy / name).read_bytes()
        middle = len(content) // 2
        (copy / name).write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
        gap.take(copy).complains(1, "refused")
        assert not gap.service.kept("**", "*")


def test_a_folder_that_is_no_export_of_this_registry_is_refused(gap: Gap, tmp_path: Path) -> None:
    gap.forget()
    gap.take(tmp_path / "missing").complains(1, "no folder")
    (tmp_path / "empty").mkdir()
    gap.take(tmp_path / "empty").complains(1, "mirror.json")
    more = tmp_path / "more"
    shutil.copytree(gap.exported, more)
    (more / "packages" / "extra").write_bytes(b"x")
    gap.take(more).complains(1, "packages/extra")
    (more / "packages" / "extra").unlink()
    (more / "packages" / "link").symlink_to("/etc/passwd")
    gap.take(more).complains(1, "neither a file nor a folder")
    gap.take(gap.exported, "--key", gap.key.replace("+", "x+", 1)).complains(1, "key")
    assert not gap.service.kept("**", "*")


def test_a_killed_import_leaves_whole_files_and_is_continued(gap: Gap) -> None:
    arguments = ("mirror", "corp", "--import", str(gap.exported))
    gap.forget()
    count = steps(gap.service.data_dir, *arguments, env=gap.env)
    for kill_at in range(2, count, max(1, count // 5)):
        gap.forget()
        steps(gap.service.data_dir, *arguments, kill_at=kill_at, env=gap.env)
        done = gap.take(gap.exported, "--json")
        assert (done.code, done.json["imported"]["listed"]) == (0, 2), done.error
        assert len(gap.service.kept("packages", "*", "[0-9a-f]*")) == 2


def test_a_registry_that_can_be_read_again_is_followed_as_before(gap: Gap) -> None:
    assert gap.take(gap.exported).code == 0
    reader = gap.service.caller("reader", "admin")
    with gap.upstream:
        gap.upstream.release("coffee")
        gap.service.api("POST", "/registry/refresh", headers=reader).raise_for_status()
        wait_until(lambda: set(listed(gap.service)) == {"corp/acme.coffee", "corp/acme.tea"})
