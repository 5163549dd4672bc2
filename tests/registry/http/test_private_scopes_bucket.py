"""Packages of private scopes in a bucket: below a prefix of their own, and downloaded through the door alone."""

import secrets
from pathlib import Path

import pytest

from support.commands import Done
from support.publishing import Registry, skill_package
from support.s3 import BUCKET, KEYS, SeaweedFS
from support.waiting import wait_until

ADMIN = ("root", "admin")


def keys_below(bucket: SeaweedFS, prefix: str) -> list[str]:
    listed = bucket.client.list_objects_v2(Bucket=BUCKET, Prefix=prefix).get("Contents", [])
    return sorted(entry["Key"].removeprefix(prefix) for entry in listed)


def add_scope(registry: Registry) -> dict[str, str]:
    """Add the private scope `acme`, and return the headers of its owner."""
    body = {"scope": "acme", "owner": "una"}
    registry.http.post("/api/v1/private-scopes", json=body, headers=registry.caller(*ADMIN)).raise_for_status()
    return registry.caller("una", "user")


def publish(registry: Registry, name: str, owner: dict[str, str]) -> bytes:
    """Publish within the scope, and return the package once it can be downloaded."""
    package = skill_package(name)
    files = {"package": ("package.zip", package, "application/zip")}
    registry.http.post("/scopes/acme/api/registry/publish", files=files, headers=owner).raise_for_status()
    path = f"/scopes/acme/packages/acme/{name}/1.0.0.zip"
    wait_until(lambda: registry.http.get(path, headers=owner).status_code == 200)
    return package


def test_packages_of_a_scope_are_below_its_prefix_and_only_members_get_them(bucket: SeaweedFS, tmp_path: Path) -> None:
    ours = secrets.token_hex(4)
    store = ("--s3-bucket", f"{BUCKET}/{ours}", "--s3-private-bucket", f"{BUCKET}/{ours}", "--s3-endpoint", bucket.url)
    with Registry(tmp_path / "registry", *store, env=KEYS) as registry:
        owner = add_scope(registry)
        package = publish(registry, "hidden", owner)
        registry.finished(registry.publish(skill_package("open"), registry.caller("open/ann")))
        assert keys_below(bucket, f"{ours}/") == [
            "scopes/acme/skills/acme/hidden-1.0.0.zip",
            "skills/open/open-1.0.0.zip",
        ]
        assert not list((registry.data_dir / "scopes" / "acme" / "blobs").rglob("*.zip"))
        path = "/packages/acme/hidden/1.0.0.zip"
        line = registry.http.get("/scopes/acme/index/acme/hidden", headers=owner).json()
        assert line["download_url"].startswith("/scopes/acme/packages/")
        got = registry.http.get(f"/scopes/acme{path}", headers=owner)
        assert (got.content, "Location" in got.headers) == (package, False)
        for who, status in ((None, 401), (registry.caller("eve/eve", "manager"), 404), (registry.caller(*ADMIN), 404)):
            assert registry.http.get(f"/scopes/acme{path}", headers=who).status_code == status
            below = "/packages/..%2Fscopes%2Facme%2Fskills%2Facme/hidden/1.0.0.zip"
            assert registry.http.get(below, headers=who or {}).status_code in (400, 401, 404)
            assert registry.http.get(path, headers=who or registry.caller()).status_code == 404
        place = ("--data-dir", str(registry.data_dir), *store, "--registry-index-url", str(registry.remote))
    for of_scope in ((), ("--private-scope", "acme")):  # neither sees packages of the other
        report = Done(tmp_path, "admin", "fsck", *place, *of_scope, "--embedding-provider", "none", "--json", **KEYS)
        assert (report.code, report.json["drift"]) == (0, []), report.out + report.error
    key = f"{ours}/scopes/acme/skills/acme/hidden-1.0.0.zip"
    bucket.client.delete_object(Bucket=BUCKET, Key=key)
    lost = Done(tmp_path, "admin", "fsck", *place, *of_scope, "--embedding-provider", "none", "--json", **KEYS)
    assert [drift["thing"] for drift in lost.json["drift"]] == ["acme/hidden 1.0.0"]
    kept = Done(tmp_path, "admin", "backup", str(tmp_path / "kept"), *place[:6], *of_scope, "--json", **KEYS)
    assert kept.json["not_in_it"] == [f"the packages, which are in the bucket {BUCKET}/{ours}/scopes/acme"]


def test_a_scope_with_packages_in_its_folder_keeps_them_there(bucket: SeaweedFS, tmp_path: Path) -> None:
    ours = secrets.token_hex(4)
    with Registry(tmp_path / "registry") as registry:
        owner = add_scope(registry)
        first = publish(registry, "first", owner)
    store = ("--s3-private-bucket", f"{BUCKET}/{ours}", "--s3-endpoint", bucket.url)
    with Registry(tmp_path / "registry", *store, env=KEYS) as registry:
        owner = registry.caller("una", "user")
        publish(registry, "second", owner)
        assert registry.http.get("/scopes/acme/packages/acme/first/1.0.0.zip", headers=owner).content == first
        names = [path.name for path in (registry.data_dir / "scopes" / "acme" / "blobs").rglob("*.zip")]
        assert (sorted(names), keys_below(bucket, ours)) == (["first-1.0.0.zip", "second-1.0.0.zip"], [])


def test_a_bucket_that_cannot_be_used_loses_nothing_and_hides_no_path(bucket: SeaweedFS, tmp_path: Path) -> None:
    ours = secrets.token_hex(4)
    store = ("--s3-private-bucket", f"{BUCKET}/{ours}", "--s3-endpoint", bucket.url)
    wrong = {**KEYS, "AWS_SECRET_ACCESS_KEY": "canary"}
    with Registry(tmp_path / "registry", *store, env=wrong) as registry:
        owner = add_scope(registry)
        files = {"package": ("package.zip", skill_package("waits"), "application/zip")}
        sent = registry.http.post("/scopes/acme/api/registry/publish", files=files, headers=owner)
        assert sent.status_code == 202
        job = f"/scopes/acme/api/registry/publish/{sent.json()['data']['job_id']}/status"
        wait_until(lambda: "cannot be used" in registry.log.read_text())
        assert registry.http.get(job, headers=owner).json()["data"]["status"] not in ("accepted", "rejected")
        assert "canary" not in registry.log.read_text()
    with Registry(tmp_path / "registry", *store, env=KEYS) as registry:
        owner = registry.caller("una", "user")
        wait_until(lambda: registry.http.get(job, headers=owner).json()["data"]["status"] == "accepted")
        assert keys_below(bucket, f"{ours}/") == ["scopes/acme/skills/acme/waits-1.0.0.zip"]


@pytest.mark.parametrize("private", ["packages", "packages/private"])
def test_a_bucket_that_everybody_reads_is_refused(private: str, tmp_path: Path) -> None:
    flags = ("--s3-bucket", "packages/open", "--s3-private-bucket", private)
    done = Done(tmp_path, "serve", *flags, "--s3-blob-base-url", "https://cdn.example.org")
    assert (done.code, "everybody reads s3.bucket" in done.error) == (2, True)
