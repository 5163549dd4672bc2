"""`/v1/skills` for the published SDKs: what they create, read, download and delete, in both profiles."""

import io
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from anthropic import Anthropic
from openai import BadRequestError, ConflictError, NotFoundError, OpenAI

from support.code_v1 import error, fields
from support.publishing import Registry, skill_package
from support.routes import REGISTRY_MODE
from support.servers import RunningServer, new_skill
from support.zips import plain_zip

SCRIPT = b"#!/bin/sh\necho zebrawood\n"


def skill_md(name: str, version: str = "1.0.0") -> bytes:
    return (
        f"---\nname: {name}\ndescription: Does {name} things with great care.\nversion: {version}\n---\n# B\n".encode()
    )


def folder_parts(name: str, version: str = "1.0.0") -> list[tuple[str, bytes]]:
    return [(f"{name}/SKILL.md", skill_md(name, version)), (f"{name}/scripts/run.sh", SCRIPT)]


def unzipped(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


class Door:
    """One service, as both SDKs and a plain client reach it."""

    def __init__(self, server: RunningServer, token: str, scope: str) -> None:
        self.server = server
        self.scope = scope
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.openai = OpenAI(base_url=f"{server.url}/v1", api_key=token or "none", max_retries=0)
        self.anthropic = Anthropic(base_url=server.url, auth_token=token or "none", max_retries=0)

    def id_of(self, name: str) -> str:
        return f"{self.scope}{name}"

    def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        headers = self.headers | options.pop("headers", {})
        return self.server.http.request(method, f"/v1{path}", headers=headers, **options)


@pytest.fixture(scope="module", params=["local", REGISTRY_MODE])
def door(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    folder: Path = tmp_path_factory.mktemp("v1")
    if request.param == "local":
        with RunningServer(folder) as server:
            yield Door(server, "", "")
            assert not list(server.skills_dir.glob(".skill-registry-*"))
    else:
        with Registry(folder) as registry:
            token = registry.caller()["Authorization"].removeprefix("Bearer ")
            yield Door(registry, token, "acme/")


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    with Registry(tmp_path_factory.mktemp("registry")) as running:
        yield Door(running, running.caller()["Authorization"].removeprefix("Bearer "), "acme/")


def test_the_openai_sdk_creates_reads_downloads_and_deletes(door: Door) -> None:
    made = door.openai.skills.create(files=folder_parts("planes"))
    assert (made.id, made.object, made.default_version, made.latest_version) == (
        door.id_of("planes"), "skill", "1.0.0", "1.0.0",
    )  # fmt: skip
    read = door.openai.skills.retrieve(made.id)
    assert (read.name, read.description) == ("planes", "Does planes things with great care.")
    expected = {"SKILL.md": skill_md("planes"), "scripts/run.sh": SCRIPT}
    assert unzipped(door.openai.skills.content.retrieve(made.id).read()) == expected
    (version,) = door.openai.skills.versions.list(made.id)
    assert (version.id, version.object, version.skill_id) == ("1.0.0", "skill.version", made.id)
    again = door.openai.skills.versions.retrieve(version.version, skill_id=made.id)
    assert (again.version, again.name) == ("1.0.0", "planes")
    content = door.openai.skills.versions.content.retrieve(version.version, skill_id=made.id)
    assert unzipped(content.read()) == expected
    gone = door.openai.skills.delete(made.id)
    assert (gone.id, gone.deleted, gone.object) == (made.id, True, "skill.deleted")
    with pytest.raises(NotFoundError):
        door.openai.skills.retrieve(made.id)


def test_the_anthropic_sdk_creates_reads_downloads_and_deletes(door: Door) -> None:
    made = door.anthropic.skills.create(display_name="Chisels", files=folder_parts("chisels"))
    assert (made.id, made.type, made.display_name) == (door.id_of("chisels"), "skill", "chisels")
    assert (made.latest_version_id, made.source.type) == ("1.0.0", "custom")
    read = door.anthropic.skills.retrieve(made.id)
    assert (read.created_at, read.updated_at) == (made.created_at, made.updated_at)
    assert read.created_at.tzinfo is not None
    (version,) = door.anthropic.skills.versions.list(made.id)
    latest = door.anthropic.skills.versions.retrieve("latest", skill_id=made.id)
    assert (version.id, version.type, latest.id, latest.name) == ("1.0.0", "skill_version", "1.0.0", "chisels")
    content = door.anthropic.beta.skills.versions.download(latest.id, skill_id=made.id)
    assert unzipped(content.read()) == {"SKILL.md": skill_md("chisels"), "scripts/run.sh": SCRIPT}
    assert made.id in [skill.id for skill in door.anthropic.skills.list(limit=1)]
    gone = door.anthropic.skills.delete(made.id)
    assert (gone.id, gone.type) == (made.id, "skill_deleted")


def test_one_zip_is_taken_as_it_is(door: Door) -> None:
    package = plain_zip({"saws/SKILL.md": skill_md("saws"), "saws/a/b.txt": b"teeth"})
    made = door.openai.skills.create(files=("saws.zip", package))
    content = door.openai.skills.content.retrieve(made.id).read()
    assert unzipped(content) == {"SKILL.md": skill_md("saws"), "a/b.txt": b"teeth"}
    assert made.id in [skill.id for skill in door.openai.skills.list()]


def test_a_zip_is_the_same_bytes_each_time_and_has_an_entity_tag(door: Door) -> None:
    made = door.openai.skills.create(files=folder_parts("rasps"))
    one = door.ask("GET", f"/skills/{made.id}/content")
    assert one.headers["Content-Type"] == "application/zip"
    assert "Content-Encoding" not in one.headers
    assert one.content == door.ask("GET", f"/skills/{made.id}/versions/1.0.0/content").content
    known = door.ask("GET", f"/skills/{made.id}/content", headers={"If-None-Match": one.headers["ETag"]})
    assert (known.status_code, known.content) == (304, b"")


@pytest.mark.parametrize(
    ("files", "field"),
    [
        ([("x/readme.md", b"no skill")], "package"),
        ([("x/SKILL.md", b"no front matter")], "SKILL.md"),
        ([("x/SKILL.md", skill_md("good")), ("x/../../evil", b"")], "x/../../evil"),
        ([("/SKILL.md", skill_md("good"))], "/SKILL.md"),
        ([("SKILL.md", skill_md("good")), ("skill.md", b"")], "skill.md"),
        ([("SKILL.md", skill_md("good")), ("a\\b", b"")], "a\\\\b"),  # httpx doubles it
        ([("x.zip", b"PK\3\4 not a zip")], "package"),
        ([], "files"),
    ],
)
def test_files_that_are_no_skill_are_refused_with_reasons(
    door: Door, files: list[tuple[str, bytes]], field: str
) -> None:
    parts = [("files[]", part) for part in files] or [("other", ("x", b"y"))]
    answer = door.ask("POST", "/skills", files=parts)
    assert error(answer) == (400, "VALIDATION_ERROR"), answer.text
    assert any(name.removeprefix("package.") == field for name in fields(answer)), answer.text
    with pytest.raises(NotFoundError):
        door.openai.skills.retrieve(door.id_of("good"))


def test_a_name_that_is_taken_is_a_conflict(door: Door) -> None:
    door.openai.skills.create(files=folder_parts("twice"))
    with pytest.raises(ConflictError):
        door.openai.skills.create(files=folder_parts("twice"))


def test_json_creates_and_adds_versions_too(door: Door) -> None:
    made = door.ask("POST", "/skills", json=new_skill("plain")).json()
    assert (made["data"]["id"], made["id"], made["object"]) == ("plain", "plain", "skill")
    added = door.ask("POST", "/skills/plain/versions", json={"version": "1.1.0"})
    assert (added.status_code, added.json()["id"], added.json()["data"]["version"]) == (201, "1.1.0", "1.1.0")
    assert door.openai.skills.retrieve("plain").latest_version == "1.1.0"
    gone = door.openai.skills.versions.delete("1.0.0", skill_id="plain")
    assert (gone.id, gone.version, gone.object, gone.deleted) == ("1.0.0", "1.0.0", "skill.version.deleted", True)


def test_versions_page_to_the_end(door: Door) -> None:
    door.ask("POST", "/skills", json=new_skill("paged"))
    numbers = ["1.0.0", *(f"1.{minor}.0" for minor in range(1, 6))]
    for number in numbers[1:]:
        door.ask("POST", "/skills/paged/versions", json={"version": number})
    listed = [version.id for version in door.openai.skills.versions.list("paged", limit=2)]
    assert listed == numbers[::-1]
    assert [version.id for version in door.openai.skills.versions.list("paged", limit=4, order="asc")] == numbers
    assert [version.id for version in door.anthropic.skills.versions.list("paged", limit=2)] == listed
    with pytest.raises(BadRequestError, match="after"):
        list(door.openai.skills.versions.list("paged", after="9.9.9"))


def test_a_skill_without_files_has_no_zip(registry: Door) -> None:
    registry.ask("POST", "/skills", json=new_skill("record"))
    assert error(registry.ask("GET", "/skills/record/content")) == (404, "NOT_FOUND")
    assert error(registry.ask("GET", "/skills/absent/content")) == (404, "SKILL_NOT_FOUND")


def test_a_published_skill_takes_versions_as_files(registry: Door) -> None:
    made = registry.openai.skills.create(files=folder_parts("awls"))
    second = registry.openai.skills.versions.create(made.id, files=folder_parts("awls", "1.1.0"))
    assert (second.id, second.skill_id) == ("1.1.0", made.id)
    third = registry.anthropic.skills.versions.create(made.id, files=folder_parts("awls", "1.2.0"))
    assert third.id == "1.2.0"
    with pytest.raises(BadRequestError, match="must be that of the skill"):
        registry.openai.skills.versions.create(made.id, files=folder_parts("other", "1.3.0"))
    old = registry.openai.skills.versions.content.retrieve("1.0.0", skill_id=made.id).read()
    assert unzipped(old)["SKILL.md"] == skill_md("awls")
    gone = registry.anthropic.skills.versions.delete("1.0.0", skill_id=made.id)
    assert (gone.id, gone.type) == ("1.0.0", "skill_version_deleted")
    assert [version.id for version in registry.openai.skills.versions.list(made.id)] == ["1.2.0", "1.1.0"]


def test_a_yanked_version_is_served_by_number_and_a_revoked_one_never(registry: Door) -> None:
    made = registry.openai.skills.create(files=folder_parts("clamps"))
    registry.openai.skills.delete(made.id)
    yanked = f"/skills/{made.id}/versions/1.0.0/content"
    assert unzipped(registry.ask("GET", yanked).content)["SKILL.md"] == skill_md("clamps")
    assert error(registry.ask("GET", f"/skills/{made.id}/content")) == (404, "SKILL_NOT_FOUND")
    admin = {"Authorization": f"Bearer {registry.server.token('admin')}"}
    revoked = registry.server.http.post(f"/api/registry/skills/{made.id}/1.0.0/revoke", headers=admin)
    assert revoked.status_code == 200
    assert error(registry.ask("GET", yanked)) == (409, "CONFLICT")


def test_a_package_that_is_rejected_says_why(registry: Door) -> None:
    """The files are well-formed, so only the worker refuses them."""
    files = [*folder_parts("leaky"), ("leaky/tool", b"\x7fELF" + bytes(100))]
    with pytest.raises(BadRequestError, match="tool: the file is an executable binary"):
        registry.openai.skills.create(files=files)
    assert error(registry.ask("GET", "/skills/acme/leaky")) == (404, "SKILL_NOT_FOUND")


def test_a_user_may_read_and_change_nothing(registry: Door) -> None:
    registry.openai.skills.create(files=folder_parts("vises"))
    reader = registry.server.token("user")
    headers = {"Authorization": f"Bearer {reader}"}
    assert registry.ask("GET", "/skills/acme/vises/content", headers=headers).status_code == 200
    parts = [("files[]", part) for part in folder_parts("sneaky")]
    for method, path, options in (
        ("POST", "/skills", {"files": parts}),
        ("POST", "/skills/acme/vises/versions", {"files": parts}),
        ("DELETE", "/skills/acme/vises", {}),
    ):
        assert error(registry.ask(method, path, headers=headers, **options)) == (403, "FORBIDDEN")
    refused = registry.server.http.get("/v1/skills/acme/vises/content")
    assert (refused.status_code, refused.headers["WWW-Authenticate"]) == (401, "Bearer")


def test_a_registry_that_does_not_publish_takes_no_files(tmp_path: Path, database_setting: Mapping[str, str]) -> None:
    with RunningServer(tmp_path, "--profile", "registry", env=database_setting) as server:
        door = Door(server, server.token("manager"), "")
        with pytest.raises(ConflictError, match="does not publish"):
            door.openai.skills.create(files=folder_parts("homeless"))
        assert list(door.openai.skills.list()) == []


def test_large_and_many_parts_are_refused(door: Door) -> None:
    many = [("files[]", (f"x/{number}.txt", b"")) for number in range(2100)]
    assert error(door.ask("POST", "/skills", files=many)) == (400, "VALIDATION_ERROR")
    big = [("files", ("x/SKILL.md", b"\0" * (26 << 20)))]
    assert error(door.ask("POST", "/skills", files=big)) == (413, "PAYLOAD_TOO_LARGE")
    long_json = b'{"id": "' + b"x" * (2 << 20) + b'"}'
    headers = {"Content-Type": "application/json"}
    assert error(door.ask("POST", "/skills", content=long_json, headers=headers)) == (413, "PAYLOAD_TOO_LARGE")


def test_a_skill_published_elsewhere_is_served_with_its_files_at_the_root(registry: Door) -> None:
    server = registry.server
    assert isinstance(server, Registry)
    server.finished(server.publish(skill_package("gouges", files={"ref/a.md": b"text"})))
    content = registry.anthropic.beta.skills.versions.download("latest", skill_id="acme/gouges")
    assert set(unzipped(content.read())) == {"SKILL.md", "ref/a.md"}
