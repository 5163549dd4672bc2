"""The registry protocol of Microsoft APM, in both profiles; the real client is in `tests/clients`."""

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.publishing import Registry, skill_package
from support.servers import RunningServer, write_skill
from support.zips import plain_zip

V1 = "/apm/v1"
PROBLEM = "application/problem+json"


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with Registry(tmp_path_factory.mktemp("apm")) as running:
        for version in ("1.0.0", "1.2.0", "2.0.0"):
            package = skill_package("whittle", version, body="# Carves zebrawood spoons\n" + "Spoon. " * 400)
            assert running.finished(running.publish(package))["status"] == "accepted"
        yield running


def put(registry: RunningServer, path: str, body: bytes, headers: dict[str, str], kind: str = "application/zip") -> Any:
    return registry.http.put(f"{V1}/packages/{path}", content=body, headers={**headers, "Content-Type": kind})


def problem(answer: httpx.Response) -> tuple[int, str]:
    """Return the status and the code of an error, which has the form of problem details."""
    assert answer.headers["content-type"].partition(";")[0] == PROBLEM, answer.text
    body = answer.json()
    assert body["status"] == answer.status_code
    assert body["title"]
    assert body["detail"]
    return answer.status_code, body["code"]


def test_the_digest_of_a_version_is_that_of_its_bytes(registry: Registry) -> None:
    listed = registry.get(f"{V1}/packages/acme/whittle/versions")
    assert listed.json()["package"] == "acme/whittle"
    versions = listed.json()["versions"]
    assert [one["version"] for one in versions] == ["2.0.0", "1.2.0", "1.0.0"]
    for one in versions:
        got = registry.get(
            f"{V1}/packages/acme/whittle/versions/{one['version']}/download", **{"Accept-Encoding": "gzip"}
        )
        digest = hashlib.sha256(got.content)
        assert (got.headers["content-type"], len(got.content)) == ("application/zip", one["size_bytes"])
        assert "content-encoding" not in got.headers
        assert one["digest"] == f"sha256:{digest.hexdigest()}"
        assert got.headers["digest"] == f"sha256={base64.b64encode(digest.digest()).decode()}"


def test_search_finds_packages(registry: Registry) -> None:
    answer = registry.get(f"{V1}/search?q=zebrawood+spoons&type=skill")
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert found["results"][0]["id"] == "acme/whittle"
    assert found["results"][0]["latest_version"] == "2.0.0"
    assert (found["query"], found["total"]) == ("zebrawood spoons", 1)
    assert registry.get(f"{V1}/search?q=spoons&type=prompt").json()["results"] == []
    absent = registry.get(f"{V1}/search?q=spoons&tag=absent")
    assert absent.json().get("results") == [], absent.text
    assert problem(registry.get(f"{V1}/search")) == (400, "VALIDATION_ERROR")
    assert problem(registry.get(f"{V1}/search?q=a&limit=0")) == (400, "VALIDATION_ERROR")


def test_errors_are_problem_details(registry: Registry) -> None:
    assert problem(registry.http.get(f"{V1}/packages/acme/whittle/versions")) == (401, "UNAUTHORIZED")
    assert problem(registry.get(f"{V1}/packages/acme/absent/versions")) == (404, "SKILL_NOT_FOUND")
    assert problem(registry.get(f"{V1}/packages/acme/whittle/versions/9.9.9/download")) == (404, "SKILL_NOT_FOUND")
    assert problem(registry.get("/apm/v2/packages")) == (404, "NOT_FOUND")
    assert problem(registry.http.post(f"{V1}/search", headers=registry.caller())) == (405, "METHOD_NOT_ALLOWED")


def test_publishing_and_its_refusals(registry: Registry) -> None:
    caller, reader = registry.caller(), registry.caller("reader", "user")
    package = skill_package("adze", "1.0.0")
    path = "acme/adze/versions/1.0.0"
    assert problem(put(registry, path, package, reader)) == (403, "FORBIDDEN")
    assert problem(put(registry, "corp/adze/versions/1.0.0", package, caller)) == (403, "FORBIDDEN")
    assert problem(put(registry, path, package, caller, "application/json")) == (415, "UNSUPPORTED_MEDIA_TYPE")
    for wrong in (b"", b"PK no zip", plain_zip({"README.md": b"nothing"})):
        assert problem(put(registry, path, wrong, caller)) == (422, "VALIDATION_ERROR")
    assert problem(put(registry, "acme/other/versions/1.0.0", package, caller)) == (422, "VALIDATION_ERROR")
    wrong_version = put(registry, "acme/adze/versions/3.0.0", package, caller)
    assert problem(wrong_version) == (422, "VALIDATION_ERROR")
    assert "must be 3.0.0" in wrong_version.json()["detail"]
    done = put(registry, path, package, caller)
    assert done.status_code == 201, done.text
    assert done.json()["package"] == "acme/adze"
    assert done.json()["digest"] == f"sha256:{hashlib.sha256(package).hexdigest()}"
    assert problem(put(registry, path, package, caller)) == (409, "CONFLICT")
    assert registry.get(f"{V1}/packages/{path}/download").content == package


def test_a_project_of_apm_with_one_skill_is_published_as_the_skill(registry: Registry) -> None:
    text = b"---\nname: chisel\ndescription: Chisels wood with great care.\nversion: 1.0.0\n---\n# Chisel\n"
    files = {
        "apm.yml": b"name: chisel\nversion: 1.0.0\n",
        ".apm/skills/chisel/SKILL.md": text,
        ".apm/skills/chisel/references/wood.md": b"# Wood\n",
        "README.md": b"# Chisel\n",
    }
    done = put(registry, "acme/chisel/versions/1.0.0", plain_zip(files), registry.caller())
    assert done.status_code == 201, done.text
    listed = registry.get("/tree/acme/chisel/index.json").json()["files"]
    assert listed == ["SKILL.md", "references/wood.md"]
    two = files | {".apm/skills/gouge/SKILL.md": text.replace(b"chisel", b"gouge")}
    refused = put(registry, "acme/chisel/versions/1.0.1", plain_zip(two), registry.caller())
    assert problem(refused) == (422, "VALIDATION_ERROR")


def test_what_is_withdrawn(registry: Registry) -> None:
    for version in ("1.0.0", "1.1.0", "1.2.0"):
        registry.finished(registry.publish(skill_package("rasp", version)))
    admin = registry.caller("acme/root", "admin")
    for version, change in (("1.0.0", "revoke"), ("1.1.0", "yank")):
        registry.http.post(f"/api/v1/registry/skills/acme/rasp/{version}/{change}", headers=admin).raise_for_status()
    listed = registry.get(f"{V1}/packages/acme/rasp/versions").json()["versions"]
    assert [one["version"] for one in listed] == ["1.2.0"]
    assert registry.get(f"{V1}/packages/acme/rasp/versions/1.1.0/download").status_code == 200  # a lock names it
    assert problem(registry.get(f"{V1}/packages/acme/rasp/versions/1.0.0/download")) == (409, "CONFLICT")


def test_folders_of_the_local_profile(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "near", "Files near things.")
    with RunningServer(tmp_path) as server:
        server.wait_for(lambda: server.status()["skills"] == 1)
        (one,) = server.http.get(f"{V1}/packages/local/near/versions").json()["versions"]
        got = server.http.get(f"{V1}/packages/local/near/versions/{one['version']}/download")
        assert one["digest"] == f"sha256:{hashlib.sha256(got.content).hexdigest()}"
        assert put(server, "local/far/versions/1.0.0", skill_package("far"), {}).status_code == 201
        assert (server.skills_dir / "far" / "SKILL.md").is_file()
        assert problem(put(server, "local/far/versions/1.0.0", skill_package("far"), {})) == (409, "CONFLICT")
        assert problem(put(server, "acme/far/versions/1.0.0", skill_package("far"), {})) == (400, "VALIDATION_ERROR")
        assert server.http.get(f"{V1}/search?q=near").json()["results"][0]["id"] == "local/near"
