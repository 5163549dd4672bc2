"""Published skills are read like others: their files, and where their package is."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from support.publishing import Registry, skill_package
from support.servers import RunningServer
from support.zips import plain_zip

LARGE = bytes(range(256)) * 1024
FILES = {
    "SKILL.md": b"---\nname: lathe\ndescription: Turns wood with great care.\n---\r\n# Body\r\nTurns zebrawood.\n",
    "scripts/run.py": b"print('turn')\n",
    "assets/large.bin": LARGE,
    "assets/caf\N{LATIN SMALL LETTER E WITH ACUTE}.txt": b"warm\n",
}


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with Registry(tmp_path_factory.mktemp("registry")) as running:
        publish(running, plain_zip(FILES))
        yield running
        assert not list((running.data_dir / "publish").iterdir())


def publish(registry: Registry, package: bytes) -> dict[str, Any]:
    job = registry.finished(registry.publish(package))
    assert job["status"] == "accepted", job
    return job


def file(registry: Registry, path: str, skill_id: str = "acme/lathe") -> Any:
    return registry.get(f"/api/v1/skills/{skill_id}/files/{path}")


def test_every_file_is_what_was_published(registry: Registry) -> None:
    listed = registry.get("/api/v1/skills/acme/lathe/files").json()["data"]
    assert {(one["path"], one["size"]) for one in listed} == {(path, len(data)) for path, data in FILES.items()}
    for path, data in FILES.items():
        answer = file(registry, path)
        assert (answer.status_code, answer.content) == (200, data), path


def test_a_search_finds_a_skill_by_the_name_of_one_of_its_files(registry: Registry) -> None:
    for query in ("scripts/run.py", "run.py", "which skill brings run.py?"):
        hits = registry.get(f"/api/v1/search?q={quote(query)}&mode=keyword").json()["data"]["skills"]
        assert [hit["skill"]["id"] for hit in hits] == ["acme/lathe"]


def test_the_headers_are_those_of_any_file(registry: Registry) -> None:
    digest = registry.get("/api/v1/skills/acme/lathe").json()["data"]["digest"]
    for path, kind, disposition in (
        ("scripts/run.py", "text/plain; charset=utf-8", 'inline; filename="run.py"'),
        ("assets/large.bin", "application/octet-stream", 'attachment; filename="large.bin"'),
        ("assets/caf\u00e9.txt", "text/plain; charset=utf-8", "inline; filename*=utf-8''caf%C3%A9.txt"),
    ):
        answer = registry.get(f"/api/v1/skills/acme/lathe/files/{path}", **{"Accept-Encoding": "identity"})
        assert answer.headers["Content-Type"] == kind
        assert answer.headers["Content-Disposition"] == disposition
        assert answer.headers["Content-Length"] == str(len(FILES[path]))
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["ETag"] == f'"{digest}"'
        assert answer.headers["Last-Modified"].endswith(" GMT")


@pytest.mark.parametrize(
    "path", ["nothing.md", "scripts", "SKILL.md/x", "%2e%2e%2fSKILL.md", "SKILL.md%00", "skill.md"]
)
def test_what_is_no_file_of_the_package_is_not_found(registry: Registry, path: str) -> None:
    answer = file(registry, path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_FOUND")


def test_a_package_may_have_the_skill_in_a_folder(registry: Registry) -> None:
    text = b"---\nname: nested\ndescription: Is one level down.\n---\n"
    publish(registry, plain_zip({"nested/SKILL.md": text, "nested/a/b.txt": b"deep\n"}))
    assert file(registry, "a/b.txt", "acme/nested").content == b"deep\n"
    assert file(registry, "nested/a/b.txt", "acme/nested").status_code == 404


def test_the_files_are_those_of_the_current_version(registry: Registry) -> None:
    for version in ("1.0.0", "1.1.0"):
        publish(registry, skill_package("moving", version, files={"notes.txt": version.encode()}))
    assert file(registry, "notes.txt", "acme/moving").text == "1.1.0"
    yank = "/api/v1/registry/skills/acme/moving/1.1.0/yank"
    assert registry.http.post(yank, headers=registry.caller()).status_code == 200
    assert file(registry, "notes.txt", "acme/moving").text == "1.0.0"


def test_no_byte_of_a_changed_package_is_sent(registry: Registry) -> None:
    publish(registry, skill_package("damaged", files={"notes.txt": b"true"}))
    stored = registry.blobs / "skills/acme/damaged-1.0.0.zip"
    stored.chmod(0o644)
    stored.write_bytes(skill_package("damaged", files={"notes.txt": b"lies"}))
    answer = file(registry, "notes.txt", "acme/damaged")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "SERVICE_UNAVAILABLE")
    assert "the package of acme/damaged 1.0.0 is damaged" in registry.log.read_text()


def test_a_missing_package_is_said_to_be_missing(registry: Registry) -> None:
    job = publish(registry, skill_package("gone"))
    (registry.blobs / "skills/acme/gone-1.0.0.zip").unlink()
    for answer in (registry.get(job["download_url"]), file(registry, "SKILL.md", "acme/gone")):
        assert answer.status_code == 503
        assert "missing from the store and cannot be downloaded: the operator" in answer.json()["error"]["message"]
    advice = "acme/gone 1.0.0 is missing from the store: restore skills/acme/gone-1.0.0.zip from a backup"
    assert advice in registry.log.read_text()


def test_detail_and_resolve_name_the_package(registry: Registry) -> None:
    job = publish(registry, skill_package("named", body="# Body\nPolishes quebracho.\n"))
    detail = registry.get("/api/v1/skills/acme/named").json()["data"]
    assert (detail["download_url"], detail["digest"]) == (job["download_url"], job["checksum"])
    (found,) = resolved(registry, "quebracho")
    assert (found["skill_id"], found["download_url"], found["checksum"]) == (
        "acme/named",
        job["download_url"],
        job["checksum"],
    )
    package = registry.get(found["download_url"]).content
    assert f"sha256:{hashlib.sha256(package).hexdigest()}" == found["checksum"]


def test_a_record_has_no_package(registry: Registry) -> None:
    record = {
        "id": "a-record",
        "name": "A record",
        "description": "Oils ipe decks with great care.",
        "version": "1.0.0",
    }
    assert registry.http.post("/api/skills", json=record, headers=registry.caller()).status_code == 201
    assert registry.get("/api/v1/skills/a-record").json()["data"]["download_url"] is None
    (found,) = resolved(registry, "ipe decks")
    assert "checksum" not in found
    assert registry.get(found["download_url"]).json()["data"]["path"] == ""


def resolved(registry: Registry, prompt: str) -> list[dict[str, Any]]:
    body = {"prompt": prompt, "limit": 1}
    answer = registry.http.post("/api/v1/resolve", json=body, headers=registry.caller())
    assert answer.status_code == 200
    results: list[dict[str, Any]] = answer.json()["data"]["results"]
    return results


def test_published_skills_outlive_registry_mode(tmp_path: Path) -> None:
    with Registry(tmp_path) as registry:
        publish(registry, plain_zip(FILES))
    with RunningServer(tmp_path, "--profile", "registry") as server:
        server.sign_in()
        assert server.api("GET", "/skills/acme/lathe").json()["data"]["download_url"] is None
        assert "zebrawood" in server.api("GET", "/skills/acme/lathe/content").json()["data"]["content"]
        assert server.api("GET", "/skills/acme/lathe/files/SKILL.md").status_code == 404
