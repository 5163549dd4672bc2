"""Publishing over HTTP: a real server, a real bucket, a real repository as the index."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from support.publishing import Registry, index_file, skill_package
from support.s3 import BUCKET, KEYS, SeaweedFS
from support.zips import plain_zip


@pytest.fixture(scope="module")
def registry(
    bucket: SeaweedFS, tmp_path_factory: pytest.TempPathFactory, database_setting: Mapping[str, str]
) -> Iterator[Registry]:
    folder: Path = tmp_path_factory.mktemp("registry")
    with Registry(folder, *bucket.flags(), env={**database_setting, **KEYS}) as running:
        yield running
        running.wait_for(lambda: not list((running.data_dir / "publish").iterdir()))
        assert KEYS["AWS_SECRET_ACCESS_KEY"] not in running.log.read_text()
    for key in bucket.stored():  # the next one publishes the same
        bucket.client.delete_object(Bucket=BUCKET, Key=key)


def published(registry: Registry, name: str, version: str = "1.0.0", **options: Any) -> dict[str, Any]:
    job = registry.finished(registry.publish(skill_package(name, version)), **options)
    assert job["status"] == "accepted", job
    return job


def code_of(answer: Any) -> str:
    return f"{answer.status_code} {answer.json()['error']['code']}"


def change(registry: Registry, what: str, skill: str, version: str, caller: dict[str, str] | None = None) -> Any:
    headers = caller or registry.caller()
    return registry.http.post(f"/api/v1/registry/skills/{skill}/{version}/{what}", headers=headers)


def test_a_published_skill_is_found_listed_and_downloaded(registry: Registry, bucket: SeaweedFS) -> None:
    package = skill_package("whittle", body="# Body\nCarves zebrawood spoons.\n")
    job = registry.finished(registry.publish(package), synced=True)
    assert job["status"] == "accepted"
    found = registry.http.post("/api/search", json={"query": "zebrawood"}, headers=registry.caller()).json()["data"]
    assert [hit["skill"]["id"] for hit in found["skills"]] == ["acme/whittle"]
    listed = registry.get("/api/registry/sources/registry/skills").json()["data"]
    assert "acme/whittle" in [one["id"] for one in listed["skills"]]
    assert registry.get(job["download_url"]).content == package
    assert "skills/acme/whittle-1.0.0.zip" in bucket.stored()


def test_digests_are_equal_everywhere(registry: Registry) -> None:
    package = skill_package("digested")
    job = registry.finished(registry.publish(package), synced=True)
    digest = f"sha256:{hashlib.sha256(package).hexdigest()}"
    detail = registry.get("/api/v1/skills/acme%2Fdigested").json()["data"]
    line = json.loads(index_file(registry.remote, "acme/digested")[0])
    etag = registry.get(job["download_url"]).headers["ETag"]
    assert {job["checksum"], detail["digest"], line["cksum"], etag.strip('"')} == {digest}
    assert (line["size"], job["size"]) == (len(package), len(package))


def test_the_index_served_is_the_file_in_git(registry: Registry) -> None:
    for version in ("1.10.0", "1.9.0"):
        published(registry, "indexed", version, synced=True)
    answer = registry.get("/index/acme/indexed")
    assert answer.headers["Content-Type"] == "application/x-ndjson"
    assert answer.text.splitlines() == index_file(registry.remote, "acme/indexed")
    assert [json.loads(line)["vers"] for line in answer.text.splitlines()] == ["1.9.0", "1.10.0"]
    assert registry.get("/index/acme/indexed", **{"If-None-Match": answer.headers["ETag"]}).status_code == 304
    assert code_of(registry.get("/index/acme/nothing")) == "404 SKILL_NOT_FOUND"
    rows = registry.get("/api/registry/index/skills").json()["data"]
    assert next(one for one in rows if one["id"] == "acme/indexed")["versions"] == ["1.10.0", "1.9.0"]


def test_both_prefixes_and_fields_and_status_routes_are_served(registry: Registry) -> None:
    files = {"file": ("x.zip", skill_package("both"), "application/zip")}
    answer = registry.http.post("/api/v1/registry/publish", files=files, headers=registry.caller())
    job_id = answer.json()["data"]["job_id"]
    registry.finished(answer)
    for prefix in ("/api", "/api/v1"):
        for path in (f"publish/{job_id}/status", f"publish/status/{job_id}"):
            assert registry.get(f"{prefix}/registry/{path}", registry.caller()).json()["data"]["status"] == "accepted"
        assert registry.get(f"{prefix}/manifest/skills").status_code == 200
    assert "html" in registry.http.get("/registry").headers["Content-Type"]


def test_invalid_uploads_are_refused_immediately(registry: Registry) -> None:
    caller = registry.caller()
    assert code_of(registry.publish(b"no zip")) == "400 VALIDATION_ERROR"
    assert code_of(registry.publish(plain_zip({"README.md": b"hi"}))) == "400 VALIDATION_ERROR"
    assert code_of(registry.publish(skill_package("versions"))) == "400 VALIDATION_ERROR"
    assert code_of(registry.http.post("/api/registry/publish", headers=caller)) == "400 VALIDATION_ERROR"
    assert code_of(registry.http.post("/api/registry/publish", json={}, headers=caller)) == "400 VALIDATION_ERROR"
    twice = [("package", ("a.zip", skill_package("a"))), ("file", ("b.zip", skill_package("b")))]
    assert code_of(registry.http.post("/api/registry/publish", files=twice, headers=caller)) == "400 VALIDATION_ERROR"


def test_a_package_that_breaks_a_rule_is_rejected_with_the_reason(registry: Registry) -> None:
    program = skill_package("bad", files={"scripts/run": b"\x7fELF" + bytes(60)})
    job = registry.finished(registry.publish(program))
    assert job["status"] == "rejected"
    assert [(one["kind"], one["field"]) for one in job["errors"]] == [("security_issue", "scripts/run")]
    assert code_of(registry.get("/api/skills/acme/bad")) == "404 SKILL_NOT_FOUND"
    assert registry.finished(registry.publish(skill_package("bad")))["status"] == "accepted"


def test_only_a_manager_publishes_and_only_into_its_scope(registry: Registry) -> None:
    package = skill_package("scoped")
    other = plain_zip(
        {
            "SKILL.md": b"---\nname: scoped\ndescription: Is of another scope.\n---\n",
            "skill-project.toml": b'[metadata]\nid = "umbrella/scoped"\n',
        }
    )
    files = {"package": ("x.zip", package)}
    assert code_of(registry.http.post("/api/registry/publish", files=files)) == "401 UNAUTHORIZED"
    assert code_of(registry.publish(package, registry.caller("acme/bob", "user"))) == "403 FORBIDDEN"
    assert code_of(registry.publish(other)) == "403 FORBIDDEN"
    job = registry.finished(registry.publish(other, registry.caller("root", "admin")))
    assert (job["status"], job["skill_id"]) == ("accepted", "umbrella/scoped")


def test_a_key_without_a_scope_cannot_publish(registry: Registry) -> None:
    body = {"name": "robot", "role": "manager"}
    made = registry.http.post("/api/v1/auth/keys", json=body, headers=registry.caller("root", "admin"))
    key = {"x-api-key": made.json()["data"]["key"]}
    assert code_of(registry.publish(skill_package("robot"), key)) == "403 FORBIDDEN"


def test_a_job_is_seen_by_its_scope_and_administrators_only(registry: Registry) -> None:
    job = published(registry, "private-job")
    path = f"/api/registry/publish/{job['job_id']}/status"
    assert registry.get(path, registry.caller("acme/carol", "user")).status_code == 200
    assert registry.get(path, registry.caller("root", "admin")).status_code == 200
    assert code_of(registry.get(path, registry.caller("umbrella/eve"))) == "404 NOT_FOUND"
    assert code_of(registry.get("/api/registry/publish/none/status")) == "404 NOT_FOUND"


def test_a_version_is_published_once(registry: Registry) -> None:
    published(registry, "once")
    assert code_of(registry.publish(skill_package("once"))) == "409 CONFLICT"
    assert code_of(registry.publish(skill_package("once", body="# Other\n"))) == "409 CONFLICT"
    published(registry, "once", "1.0.1")
    detail = registry.get("/api/skills/acme/once").json()["data"]
    assert (detail["version"], detail["latest_version"]) == ("1.0.1", "1.0.1")


def test_a_retry_with_its_idempotency_key_is_the_same_job(registry: Registry) -> None:
    package = skill_package("retried")
    first = registry.publish(package, **{"Idempotency-Key": "k1"})
    registry.finished(first)
    again = registry.publish(package, **{"Idempotency-Key": "k1"})
    assert again.json()["data"]["job_id"] == first.json()["data"]["job_id"]
    assert code_of(registry.publish(skill_package("retried", "2.0.0"), **{"Idempotency-Key": "k1"})) == "409 CONFLICT"


def test_idempotency_keys_count_whole_up_to_their_limit(registry: Registry) -> None:
    for number in (1, 2):
        answer = registry.publish(skill_package(f"long-key-{number}"), **{"Idempotency-Key": "k" * 199 + str(number)})
        assert registry.finished(answer)["skill_id"] == f"acme/long-key-{number}"
    refused = registry.publish(skill_package("longer-key"), **{"Idempotency-Key": "k" * 201})
    assert code_of(refused) == "400 VALIDATION_ERROR"
    fault = {"field": "Idempotency-Key", "message": "must have at most 200 characters"}
    assert refused.json()["error"]["details"] == [fault]


def test_of_fifty_at_once_one_wins(registry: Registry, bucket: SeaweedFS) -> None:
    packages = [skill_package("race", body=f"# Body {number}\n") for number in range(50)]
    caller = registry.caller()
    with ThreadPoolExecutor(50) as threads:
        answers = list(threads.map(lambda package: registry.publish(package, caller), packages))
    won = [number for number, answer in enumerate(answers) if answer.status_code == 202]
    assert len(won) == 1
    assert {code_of(answer) for number, answer in enumerate(answers) if number not in won} == {"409 CONFLICT"}
    job = registry.finished(answers[won[0]])
    assert job["checksum"] == f"sha256:{hashlib.sha256(packages[won[0]]).hexdigest()}"
    assert registry.get(job["download_url"]).content == packages[won[0]]


def test_a_yanked_version_is_hidden_but_downloadable(registry: Registry) -> None:
    for version in ("1.0.0", "2.0.0"):
        published(registry, "yanked", version)
    assert change(registry, "yank", "acme/yanked", "2.0.0").status_code == 200
    assert registry.get("/api/skills/acme/yanked").json()["data"]["version"] == "1.0.0"
    assert registry.get("/packages/acme/yanked/2.0.0.zip").status_code == 200
    lines = [json.loads(line) for line in registry.get("/index/acme/yanked").text.splitlines()]
    assert [(line["vers"], line["yanked"]) for line in lines] == [("1.0.0", False), ("2.0.0", True)]
    assert change(registry, "unyank", "acme/yanked", "2.0.0").status_code == 200
    assert registry.get("/api/skills/acme/yanked").json()["data"]["version"] == "2.0.0"


def test_a_version_keeps_its_date_while_it_is_yanked(registry: Registry) -> None:
    def dates() -> tuple[str, dict[str, str]]:
        versions = registry.get("/api/code/v1/skills/acme/dated/versions").json()["data"]
        created = registry.get("/api/skills/acme/dated").json()["data"]["created_at"]
        return created, {one["version"]: one["created_at"] for one in versions}

    for version in ("1.0.0", "2.0.0"):
        published(registry, "dated", version)
    before = dates()
    assert before[0] == before[1]["1.0.0"] < before[1]["2.0.0"]
    for version in ("2.0.0", "1.0.0"):
        change(registry, "yank", "acme/dated", version)
    for version in ("1.0.0", "2.0.0"):
        change(registry, "unyank", "acme/dated", version)
    assert dates() == before


def test_a_disabled_skill_stays_disabled_while_it_is_yanked(registry: Registry) -> None:
    published(registry, "paused")
    caller = registry.caller()
    path = "/api/code/v1/skills/acme/paused"
    assert registry.http.put(path, json={"enabled": False}, headers=caller).status_code == 200
    change(registry, "yank", "acme/paused", "1.0.0")
    change(registry, "unyank", "acme/paused", "1.0.0")
    assert registry.get("/api/skills/acme/paused").json()["data"]["enabled"] is False
    registry.http.put(path, json={"enabled": True}, headers=caller)
    change(registry, "yank", "acme/paused", "1.0.0")
    change(registry, "unyank", "acme/paused", "1.0.0")
    assert registry.get("/api/skills/acme/paused").json()["data"]["enabled"] is True
    change(registry, "yank", "acme/paused", "1.0.0")
    published(registry, "paused", "1.1.0")
    assert registry.get("/api/skills/acme/paused").json()["data"]["enabled"] is True


def test_a_published_version_is_yanked_only_in_the_state_that_the_caller_knows(registry: Registry) -> None:
    for version in ("1.0.0", "1.1.0"):
        published(registry, "known", version)
    caller = registry.caller()
    path = "/api/code/v1/skills/acme/known/versions/1.0.0"
    tag = registry.get(path).headers["ETag"]
    published(registry, "known", "1.2.0")
    assert code_of(registry.http.delete(path, headers={**caller, "If-Match": tag})) == "412 PRECONDITION_FAILED"
    assert registry.get(path).status_code == 200
    tag = registry.get(path).headers["ETag"]
    deleted = registry.http.delete(path, headers={**caller, "If-Match": tag})
    assert deleted.status_code == 200
    assert "yanked, which can be undone. Requests that name the version still" in deleted.json()["data"]["message"]
    assert registry.get(path).json()["data"]["withdrawn"]["state"] == "yanked"


def test_deleting_is_yanking_and_a_version_number_is_never_used_again(registry: Registry) -> None:
    published(registry, "gone")
    caller = registry.caller()
    assert registry.http.delete("/api/skills/acme/gone", headers=caller).status_code == 200
    assert code_of(registry.get("/api/skills/acme/gone")) == "404 SKILL_NOT_FOUND"
    found = registry.http.post("/api/search", json={"query": "gone"}, headers=caller).json()["data"]["skills"]
    assert "acme/gone" not in [hit["skill"]["id"] for hit in found]
    assert code_of(registry.publish(skill_package("gone", body="# Other\n"))) == "409 CONFLICT"
    published(registry, "gone", "1.0.1")
    deleted = registry.http.delete("/api/code/v1/skills/acme/gone/versions/1.0.1", headers=caller)
    assert deleted.status_code == 200
    assert code_of(registry.publish(skill_package("gone", "1.0.1"))) == "409 CONFLICT"


def test_the_index_in_git_follows_a_yank(registry: Registry) -> None:
    published(registry, "followed", synced=True)
    change(registry, "yank", "acme/followed", "1.0.0")
    registry.wait_for(lambda: '"yanked":true' in "".join(index_file(registry.remote, "acme/followed")))
    change(registry, "unyank", "acme/followed", "1.0.0")
    registry.wait_for(lambda: '"yanked":false' in "".join(index_file(registry.remote, "acme/followed")))


def test_a_revoked_version_cannot_be_downloaded(registry: Registry) -> None:
    job = published(registry, "revoked")
    etag = registry.get(job["download_url"]).headers["ETag"]
    assert code_of(change(registry, "revoke", "acme/revoked", "1.0.0")) == "403 FORBIDDEN"
    assert change(registry, "revoke", "acme/revoked", "1.0.0", registry.caller("root", "admin")).status_code == 200
    assert code_of(registry.get(job["download_url"])) == "409 CONFLICT"
    assert code_of(registry.get(job["download_url"], **{"If-None-Match": etag})) == "409 CONFLICT"
    assert code_of(change(registry, "unyank", "acme/revoked", "1.0.0")) == "403 FORBIDDEN"


def test_only_its_scope_changes_a_published_skill(registry: Registry) -> None:
    published(registry, "owned")
    eve = registry.caller("umbrella/eve")
    assert code_of(change(registry, "yank", "acme/owned", "1.0.0", eve)) == "403 FORBIDDEN"
    assert code_of(registry.http.delete("/api/skills/acme/owned", headers=eve)) == "403 FORBIDDEN"
    path = "/api/code/v1/skills/acme/owned"
    assert code_of(registry.http.delete(f"{path}/versions/1.0.0", headers=eve)) == "403 FORBIDDEN"
    assert code_of(registry.http.put(path, json={"name": "Mine"}, headers=registry.caller())) == "409 CONFLICT"
    for version in ("0.1.0", "3.0.0"):
        answer = registry.http.post(f"{path}/versions", json={"version": version}, headers=registry.caller())
        assert code_of(answer) == "409 CONFLICT"
    assert registry.http.put(path, json={"enabled": False}, headers=registry.caller()).status_code == 200


def test_a_download_can_be_cached_forever(registry: Registry) -> None:
    url = published(registry, "kept")["download_url"]
    answer = registry.get(url, **{"Accept-Encoding": "gzip"})
    assert "immutable" in answer.headers["Cache-Control"]
    assert "Content-Encoding" not in answer.headers
    assert registry.get(url, **{"If-None-Match": answer.headers["ETag"]}).status_code == 304
    assert code_of(registry.get("/packages/acme/kept/9.9.9.zip")) == "404 SKILL_NOT_FOUND"
    assert registry.http.get(url).status_code == 401


def test_one_changed_byte_in_the_bucket_is_never_served(registry: Registry, bucket: SeaweedFS) -> None:
    job = published(registry, "damaged")
    data = bytearray(registry.get(job["download_url"]).content)
    data[40] ^= 1
    bucket.client.put_object(Bucket="packages", Key="skills/acme/damaged-1.0.0.zip", Body=bytes(data))
    assert code_of(registry.get(job["download_url"])) == "503 SERVICE_UNAVAILABLE"
    assert "the package of acme/damaged 1.0.0 is damaged" in registry.log.read_text()
    bucket.client.delete_object(Bucket="packages", Key="skills/acme/damaged-1.0.0.zip")
    assert code_of(registry.get(job["download_url"])) == "503 SERVICE_UNAVAILABLE"
