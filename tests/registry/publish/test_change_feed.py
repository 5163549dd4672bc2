"""The change feed: a follower knows every published skill as it is now, and hears of changes at once."""

import random
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from registry.config.groups import LimitsSettings
from registry.db import Database
from registry.domain.models import now
from registry.domain.package_urls import PackageUrls
from registry.inspection.inspector import Inspector
from registry.publish.change_feed import ChangeFeed, ChangePage
from registry.publish.published import PublishedVersions
from registry.publish.published_version import PublishedRecord, PublishedVersion
from registry.publish.skills import PublishedSkills
from registry.transparency.log import TransparencyLog
from support.catalogs import SkillCatalog
from support.postgres_server import PostgresServer
from support.publishing import Registry, skill_package
from support.raw_http import Connection, request
from support.replicas import SECRET
from support.servers import RunningServer

CHANGES = "/api/v1/registry/index/changes"
MOST_CHARACTERS = 100_000


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory, database_setting: Mapping[str, str]) -> Iterator[Registry]:
    with Registry(tmp_path_factory.mktemp("registry"), env=database_setting) as running:
        yield running


def published(registry: Registry, name: str, version: str = "1.0.0", body: str = "# Body\n") -> dict[str, Any]:
    job = registry.finished(registry.publish(skill_package(name, version, body)))
    assert job["status"] == "accepted", job
    return job


def page(registry: RunningServer, **query: Any) -> dict[str, Any]:
    answer = registry.http.get(CHANGES, params=query, headers=reader(registry))
    assert answer.status_code == 200, answer.text
    data: dict[str, Any] = answer.json()["data"]
    return data


def reader(registry: RunningServer) -> dict[str, str]:
    return {"Authorization": f"Bearer {registry.token('user', 'reader')}"}


def head(registry: RunningServer) -> int:
    """Return the revision after which nothing has changed yet."""
    after, complete = 0, False
    while not complete:
        found = page(registry, after=after)
        after, complete = found["revision"], found["complete"]
    return after


def change(registry: Registry, what: str, skill: str, version: str) -> None:
    path = f"/api/v1/registry/skills/{skill}/{version}/{what}"
    assert registry.http.post(path, headers=registry.caller("root", "admin")).status_code == 200


def test_a_published_skill_is_told_whole(registry: Registry) -> None:
    before = head(registry)
    job = published(registry, "told", body="# Told\n\nWhole.\n")
    found = page(registry, after=before)
    (told,) = found["changes"]
    line = registry.get("/index/acme/told").json()
    assert told == {
        "id": "acme/told",
        "revision": found["revision"],
        "skill": {
            "name": "told",
            "description": "Does told things with great care.",
            "version": "1.0.0",
            "author": "",
            "tags": [],
            "capabilities": [],
            "license": None,
            "checksum": job["checksum"],
            "size": job["size"],
            "published_at": line["published_at"],
            "download_url": line["download_url"],
            "body": "# Told\n\nWhole.\n",
        },
    }
    assert found["complete"] is True
    assert page(registry, after=found["revision"]) == {**found, "changes": []}
    assert registry.get(CHANGES.replace("/v1", "")).status_code == 200


def test_a_skill_is_told_once_as_it_is_now(registry: Registry) -> None:
    before = head(registry)
    for version in ("1.0.0", "2.0.0", "1.5.0"):
        published(registry, "latest", version)
    (told,) = page(registry, after=before)["changes"]
    assert (told["id"], told["skill"]["version"]) == ("acme/latest", "2.0.0")
    change(registry, "yank", "acme/latest", "2.0.0")
    (told,) = page(registry, after=before)["changes"]
    assert told["skill"]["version"] == "1.5.0"


def test_a_skill_without_a_listed_version_is_told_as_null(registry: Registry) -> None:
    published(registry, "leaving")
    for what, is_listed in (("yank", False), ("unyank", True), ("revoke", False)):
        before = head(registry)
        change(registry, what, "acme/leaving", "1.0.0")
        (told,) = page(registry, after=before)["changes"]
        assert (told["id"], told["skill"] is not None) == ("acme/leaving", is_listed)


def test_a_disabled_skill_is_told_as_null(registry: Registry) -> None:
    published(registry, "disabled")
    for enabled in (False, True):
        before = head(registry)
        answer = registry.http.put("/api/skills/acme/disabled", json={"enabled": enabled}, headers=registry.caller())
        assert answer.status_code == 200
        (told,) = page(registry, after=before)["changes"]
        assert (told["skill"] is not None) is enabled


def test_what_is_not_published_is_not_told(registry: Registry) -> None:
    before = head(registry)
    record = {"id": "a-record", "name": "A record", "description": "Is created, not published.", "version": "1.0.0"}
    assert registry.http.post("/api/skills", json=record, headers=registry.caller()).status_code == 201
    assert page(registry, after=before)["changes"] == []
    assert head(registry) == before


def test_pages_join_to_the_whole(registry: Registry) -> None:
    before = head(registry)
    names = [f"paged-{number}" for number in range(5)]
    for name in names:
        published(registry, name)
    found: list[str] = []
    after, complete = before, False
    while not complete:
        one = page(registry, after=after, limit=2)
        assert len(one["changes"]) <= 2
        found += [told["id"] for told in one["changes"]]
        after, complete = one["revision"], one["complete"]
    assert found == [f"acme/{name}" for name in names]


def test_a_page_ends_early_and_long_texts_are_cut(registry: Registry) -> None:
    before = head(registry)
    long = "€" * (MOST_CHARACTERS + 1)
    for number in range(15):
        published(registry, f"long-{number}", body=long)
    first = page(registry, after=before)
    assert 0 < len(first["changes"]) < 15
    assert first["complete"] is False
    assert {len(told["skill"]["body"]) for told in first["changes"]} == {MOST_CHARACTERS}
    second = page(registry, after=first["revision"])
    assert len(first["changes"]) + len(second["changes"]) == 15


def test_a_reader_who_knows_the_state_gets_no_page(registry: Registry) -> None:
    before = head(registry)
    published(registry, "known")
    first = registry.get(CHANGES, after=str(before))
    etag = registry.http.get(CHANGES, params={"after": head(registry)}, headers=reader(registry)).headers["ETag"]
    known = {**reader(registry), "If-None-Match": etag}
    same = registry.http.get(CHANGES, params={"after": head(registry)}, headers=known)
    assert (same.status_code, same.content, same.headers["ETag"]) == (304, b"", etag)
    published(registry, "known", "1.1.0")
    after = registry.http.get(CHANGES, params={"after": before}, headers=known)
    assert (first.status_code, after.status_code) == (200, 200)
    assert after.headers["ETag"] != etag


def test_a_page_within_the_catalog_has_a_tag_of_its_own(registry: Registry) -> None:
    before = head(registry)
    for name in ("tagged-a", "tagged-b"):
        published(registry, name)
    query = {"after": before, "limit": 1}
    etag = registry.http.get(CHANGES, params=query, headers=reader(registry)).headers["ETag"]
    known = {**reader(registry), "If-None-Match": etag}
    assert registry.http.get(CHANGES, params=query, headers=known).status_code == 304
    rest = {"after": page(registry, **query)["revision"], "limit": 1}
    assert registry.http.get(CHANGES, params=rest, headers=known).status_code == 200


@pytest.mark.parametrize("query", ["after=-1", "after=x", "limit=0", "wait=31", "wait=-1", "after=1&after=2"])
def test_invalid_queries_are_refused(registry: Registry, query: str) -> None:
    answer = registry.get(f"{CHANGES}?{query}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "VALIDATION_ERROR")


def test_a_revision_of_another_catalog_is_refused(registry: Registry) -> None:
    answer = registry.get(f"{CHANGES}?after={head(registry) + 1}")
    assert (answer.status_code, answer.json()["error"]["details"][0]["field"]) == (400, "after")


def test_a_large_page_is_compressed_if_the_caller_accepts_that(registry: Registry) -> None:
    published(registry, "compressed", body="# Words\n" * 500)
    plain = registry.get(CHANGES, **{"Accept-Encoding": "identity"})
    small = registry.get(CHANGES, **{"Accept-Encoding": "gzip"})
    assert ("Content-Encoding" not in plain.headers, small.headers["Content-Encoding"]) == (True, "gzip")
    assert plain.json() == small.json()


def waiting(registry: RunningServer, after: int, **headers: str) -> httpx.Response:
    caller = {**reader(registry), **headers}
    return registry.http.get(CHANGES, params={"after": after, "wait": 30}, headers=caller)


def test_those_who_wait_hear_of_a_change_and_hold_no_thread(registry: Registry) -> None:
    before = head(registry)
    with ThreadPoolExecutor(60) as callers:
        answers = [callers.submit(waiting, registry, before) for _ in range(60)]
        published(registry, "awaited")  # takes threads of the service
        found = [answer.result().json()["data"] for answer in answers]
    assert {tuple(told["id"] for told in one["changes"]) for one in found} == {("acme/awaited",)}


def test_the_wait_ends_without_a_change(registry: Registry) -> None:
    query = {"after": head(registry), "wait": 0.2}
    empty = registry.http.get(CHANGES, params=query, headers=reader(registry))
    assert (empty.status_code, empty.json()["data"]["changes"]) == (200, [])
    known = {**reader(registry), "If-None-Match": empty.headers["ETag"]}
    assert registry.http.get(CHANGES, params=query, headers=known).status_code == 304


def test_who_asks_for_the_head_alone_does_not_wait(registry: Registry) -> None:
    query, caller = {"after": head(registry), "wait": 30}, reader(registry)
    known = registry.http.get(CHANGES, params={**query, "wait": 0}, headers=caller).headers["ETag"]
    for headers, status in (({}, 200), ({"If-None-Match": known}, 304)):
        # Given up before the wait is over.
        answer = registry.http.head(CHANGES, params=query, headers={**caller, **headers}, timeout=25)
        assert (answer.status_code, answer.headers["ETag"], answer.content) == (status, known, b"")


def begin_to_wait(registry: RunningServer) -> Connection:
    """Return a connection whose request waits for a change, in a service that has nothing published."""
    credential = f"Authorization: {reader(registry)['Authorization']}"
    connection = Connection(int(registry.url.rpartition(":")[2]))
    connection.send(request("GET", f"{CHANGES}?wait=30", credential))
    for _ in range(2):  # on connections of their own, so the service has read the request before
        assert httpx.get(f"{registry.url}/healthz", trust_env=False).is_success
    return connection


def test_a_caller_who_leaves_is_not_waited_for(tmp_path: Path) -> None:
    with Registry(tmp_path) as registry:
        with begin_to_wait(registry):
            pass
        registry.wait_for(lambda: f"path={CHANGES} status=499" in registry.log.read_text())


def test_a_stop_answers_those_who_wait(tmp_path: Path) -> None:
    with Registry(tmp_path) as registry, begin_to_wait(registry) as connection:
        assert registry.stop() == 0
        assert connection.answer().json["data"]["changes"] == []
    assert re.search("Stopping: [1-9][0-9]* requests are in flight", registry.log.read_text())


def test_those_who_wait_at_one_worker_hear_what_another_publishes(tmp_path: Path) -> None:
    with Registry(tmp_path, "--workers", "3") as registry, ThreadPoolExecutor(12) as callers:
        answers = [callers.submit(waiting, registry, 0) for _ in range(12)]
        published(registry, "shared")
        found = [answer.result().json()["data"] for answer in answers]
    assert {tuple(told["id"] for told in one["changes"]) for one in found} == {("acme/shared",)}


def test_those_who_wait_at_one_replica_hear_what_another_publishes(postgres: PostgresServer, tmp_path: Path) -> None:
    env = {**SECRET, "SKILL_REGISTRY_DATABASE_URL": postgres.new_database()}
    with Registry(tmp_path / "one", env=env) as one:
        (tmp_path / "two" / "data").mkdir(parents=True)
        for shared in ("blobs", "index.git"):
            (tmp_path / "two" / shared).symlink_to(tmp_path / "one" / shared)
        with Registry(tmp_path / "two", env=env) as two, ThreadPoolExecutor(1) as caller:
            answer = caller.submit(waiting, two, 0)
            published(one, "replicated")
            (told,) = answer.result().json()["data"]["changes"]
            assert told["id"] == "acme/replicated"
            assert page(two) == page(one)


@pytest.fixture
def package(tmp_path: Path) -> PublishedRecord:
    (tmp_path / "package.zip").write_bytes(skill_package("tea"))
    inspector = Inspector(LimitsSettings())
    try:
        return PublishedRecord.of(inspector.read_package(tmp_path / "package.zip", tmp_path / "package"))
    finally:
        inspector.close()


def follow(feed: ChangeFeed, known: dict[str, str], after: int, limit: int) -> ChangePage:
    found = feed.page(after, limit).page
    for told in found.changes:
        known.pop(told.id, None)
        if told.skill is not None:
            known[told.id] = told.skill.version
    return found


def test_a_follower_knows_the_same_as_a_new_reader(
    catalog: SkillCatalog, database: Database, package: PublishedRecord, tmp_path: Path
) -> None:
    versions = PublishedVersions(database, catalog.catalog, TransparencyLog(database, now))
    backend = PublishedSkills(catalog.catalog, versions, None)
    feed = ChangeFeed(database, PackageUrls(None, "/packages"))
    choose = random.Random(16)
    known: dict[str, str] = {}
    after = 0
    for step in range(150):
        skill_id = f"acme/tea-{choose.randrange(12)}"
        if choose.random() < 0.5:
            publish(versions, database, package, skill_id, f"1.{step}.0")
        elif found := versions.summaries(skill_id):
            one = choose.choice(found)
            if choose.random() < 0.2 and "active" in {version.state for version in found}:
                backend.update(skill_id, {"enabled": choose.random() < 0.5})
            elif one.state != "revoked":
                versions.set_state(skill_id, [one.version], choose.choice(["active", "yanked", "revoked"]))
        catalog.put(f"unpublished-{step}")
        if choose.random() < 0.5:
            after = follow(feed, known, after, choose.randrange(1, 4)).revision
    while not (last := follow(feed, known, after, 3)).complete:
        after = last.revision
    fresh: dict[str, str] = {}
    other = ChangeFeed(database, PackageUrls(None, "/packages"))
    assert follow(other, fresh, 0, 1000).complete
    listed = {row[0] for row in database.read("select id from skills where enabled = 1 and id like 'acme/%'")}
    assert known == fresh
    assert known.keys() == listed
    assert last.revision == other.head() == feed.head()


def publish(
    versions: PublishedVersions, database: Database, record: PublishedRecord, skill_id: str, version: str
) -> None:
    with database.write() as transaction:
        versions.add(
            transaction,
            PublishedVersion(
                skill_id=skill_id,
                version=version,
                checksum=f"sha256:{'0' * 64}",
                size=1,
                published_at="2026-01-01T00:00:00.000Z",
                record=record,
                skill_file=f"---\nname: tea\ndescription: x\n---\nVersion {version}.\n",
            ),
        )
