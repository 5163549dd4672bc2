"""The service over PostgreSQL: the same answers, nothing lost, and replicas that are one registry."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import psycopg
import pytest

from support.postgres_server import PostgresServer
from support.publishing import Registry, skill_package
from support.replicas import SECRET, replica
from support.servers import RunningServer, bearer, new_skill, write_skill
from support.waiting import wait_until


@pytest.fixture(scope="module")
def registries(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[RunningServer, RunningServer]]:
    """Two replicas of the registry profile, each with a data directory of its own."""
    url, folder = postgres.new_database(), tmp_path_factory.mktemp("replicas")
    with (
        replica(folder / "one", url, "--profile", "registry") as one,
        replica(folder / "two", url, "--profile", "registry") as two,
    ):
        yield one.sign_in(), two.sign_in()


def test_a_write_through_one_is_found_through_the_other_at_once(
    registries: tuple[RunningServer, RunningServer],
) -> None:
    one, two = registries
    for number in range(10):
        description = f"Care for aardvark number{number}."
        assert one.api("POST", "/skills", json=new_skill(f"care-{number}", description=description)).status_code == 201
        assert two.found(f"number{number}")[0] == f"care-{number}"
        assert two.api("PUT", f"/skills/care-{number}", json={"author": "ada"}).json()["data"]["author"] == "ada"
        assert one.api("GET", f"/skills/care-{number}").json()["data"]["author"] == "ada"
    assert one.api("DELETE", "/skills/care-3").status_code == 200
    assert "care-3" not in two.found("aardvark", limit=50)


def test_versions_and_etags_are_kept(registries: tuple[RunningServer, RunningServer]) -> None:
    one, two = registries
    etag = one.api("POST", "/skills", json=new_skill("versioned")).headers["etag"]
    assert two.api("POST", "/skills/versioned/versions", json={"version": "1.10.0", "changes": ["new"]}).is_success
    assert [item["version"] for item in one.api("GET", "/skills/versioned/versions").json()["data"]] == [
        "1.10.0",
        "1.0.0",
    ]
    changed = one.api("PUT", "/skills/versioned", json={"author": "x"}, headers={"If-Match": etag})
    assert changed.json()["error"]["code"] == "PRECONDITION_FAILED"


def test_a_token_counts_everywhere_until_it_is_revoked(registries: tuple[RunningServer, RunningServer]) -> None:
    one, two = registries
    made = one.api("POST", "/auth/keys", json={"name": "ci", "role": "manager", "scope": "acme"}).json()["data"]
    asked = httpx.post(f"{two.url}/auth/token", json={}, headers={"x-api-key": made["key"]}, trust_env=False)
    token = bearer(asked.json()["data"]["token"])
    assert one.api("POST", "/skills", json=new_skill("by-token"), headers=token).status_code == 201
    assert one.api("DELETE", f"/auth/keys/{made['id']}").is_success
    one.wait_for(lambda: two.api("DELETE", "/skills/by-token", headers=token).status_code == 401)
    assert one.api("GET", "/skills/by-token").status_code == 200


def test_no_acknowledged_write_is_lost_to_kill_9(postgres: PostgresServer, tmp_path: Path) -> None:
    server = replica(tmp_path, postgres.new_database())
    for run in range(2):
        server.start()
        for number in range(8):
            assert server.api("POST", "/skills", json=new_skill(f"run-{run}-{number}")).status_code == 201
        server.kill()
    with server:
        assert server.api("GET", "/skills").json()["pagination"]["total"] == 16
        assert (server.status()["pending"], server.status()["drift"]) == (0, 0)
        assert len(server.found("run", limit=50)) == 16


def test_the_lead_moves_on_when_the_leader_is_killed(postgres: PostgresServer, tmp_path: Path) -> None:
    url = postgres.new_database()
    one, two = replica(tmp_path / "one", url), replica(tmp_path / "two", url)
    (tmp_path / "two" / "skills").rmdir()
    (tmp_path / "two" / "skills").symlink_to(one.skills_dir)  # one folder, as on shared storage
    write_skill(one.skills_dir, "pdf-forms", "Fill in pdf forms and read their fields.")
    with one, two:
        wait_until(lambda: two.found("pdf forms") == ["pdf-forms"])
        write_skill(one.skills_dir, "sql-review", "Review sql queries for slow joins.")
        two.wait_for(lambda: two.found("slow joins") == ["sql-review"])
        one.kill()
        write_skill(one.skills_dir, "travel-plan", "Plan a journey with trains and hotels.")
        two.wait_for(lambda: two.found("journey with trains") == ["travel-plan"])


def test_an_outage_is_a_503_and_passes(tmp_path: Path) -> None:
    with PostgresServer() as database, replica(tmp_path, database.new_database()) as server:
        assert server.api("POST", "/skills", json=new_skill("before")).status_code == 201
        assert server.found("pdf forms") == server.found("pdf forms") == ["before"]  # the second time from memory
        database.stop()
        assert server.found("pdf forms") == ["before"]
        assert server.api("POST", "/search", json={"query": "forms of pdf"}).status_code == 503
        for method, path in (("POST", "/skills"), ("GET", "/skills/before"), ("POST", "/skills")):
            answer = server.api(method, path, json=new_skill("during"))
            assert (answer.status_code, answer.json()["error"]["code"]) == (503, "SERVICE_UNAVAILABLE")
        assert server.http.get("/healthz").status_code == 200
        database.start()
        server.wait_for(lambda: server.api("GET", "/skills/before").status_code == 200)
        assert server.api("POST", "/skills", json=new_skill("after")).status_code == 201
        assert sorted(server.found("pdf forms")) == ["after", "before"]
    assert "p@ss" not in server.log.read_text()
    assert "p%40ss" not in server.log.read_text()


def test_what_one_replica_receives_is_published_for_all(postgres: PostgresServer, tmp_path: Path) -> None:
    env = {**SECRET, "SKILL_REGISTRY_DATABASE_URL": postgres.new_database()}
    with Registry(tmp_path / "one", env=env) as one:
        (tmp_path / "two" / "data").mkdir(parents=True)
        for shared in ("blobs", "index.git"):
            (tmp_path / "two" / shared).symlink_to(tmp_path / "one" / shared)
        with Registry(tmp_path / "two", env=env) as two:
            package = skill_package("bobbin")
            sent = [one.publish(skill_package("adze")), two.publish(package)]
            for answer in sent:
                assert one.finished(answer, synced=True)["status"] == "accepted"
            for registry in (one, two):
                assert registry.get("/packages/acme/bobbin/1.0.0.zip").content == package
                assert registry.get("/index/acme/adze").status_code == 200
            yanked = two.http.post("/api/v1/registry/skills/acme/adze/1.0.0/yank", headers=two.caller())
            assert yanked.is_success
            assert json.loads(one.get("/index/acme/adze").text)["yanked"] is True


SKILLS = {
    "pdf-forms": "Fill in pdf forms and read their fields",
    "sql-review": "Review sql queries for slow joins",
    "travel-plan": "Plan a journey with trains and hotels",
}
PATIENT = ("--limits-search-fallback-seconds", "30")
IN_DATABASE = ("--embedding-provider", "local", "--search-vectors", "database", *PATIENT)


def test_vectors_are_searched_in_the_database(postgres: PostgresServer, tmp_path: Path) -> None:
    url = postgres.new_database()
    with replica(tmp_path / "one", url, *IN_DATABASE) as one, replica(tmp_path / "two", url, *IN_DATABASE) as two:
        for name, description in SKILLS.items():
            assert one.api("POST", "/skills", json=new_skill(name, description=description, tags=[name[:3]])).is_success
        two.wait_for(lambda: two.status()["pending"] == 0)
        for server in (one, two):
            assert server.found("holidays by rail", mode="semantic")[0] == "travel-plan"
            assert server.search("documents to fill out")["mode"] == "hybrid"
            assert server.found("holidays by rail", mode="semantic", filters={"tags": ["sql"]}) in ([], ["sql-review"])
        assert one.api("PUT", "/skills/sql-review", json={"description": "Book hotels and railway tickets"}).is_success
        assert one.api("DELETE", "/skills/travel-plan").is_success
        two.wait_for(lambda: two.status()["pending"] == 0)
        assert two.found("holidays by rail", mode="semantic")[0] == "sql-review"
        assert (two.status()["indexed"], two.status()["drift"]) == (2, 0)
    assert not list(tmp_path.rglob("*.faiss"))


def test_words_answer_where_the_vectors_cannot_be_searched(postgres: PostgresServer, tmp_path: Path) -> None:
    url = postgres.new_database()
    with replica(tmp_path, f"{url}?options=-c%20lock_timeout%3D200", *IN_DATABASE) as server:
        assert server.api(
            "POST", "/skills", json=new_skill("travel-plan", description=SKILLS["travel-plan"])
        ).is_success
        server.wait_for(lambda: server.search("a journey")["mode"] == "hybrid")
        with psycopg.connect(url) as other:
            other.execute("lock table vectors in access exclusive mode")
            found = server.search("a journey by train")
            assert (found["mode"], found["skills"][0]["skill"]["id"]) == ("keyword", "travel-plan")
            assert "cannot search the vectors in the database" in found["warnings"][0]
            refused = server.api("POST", "/search", json={"query": "a journey by train", "mode": "semantic"})
            assert (refused.status_code, refused.json()["error"]["code"]) == (503, "SERVICE_UNAVAILABLE")
        assert server.search("a journey by rail")["mode"] == "hybrid"


def test_vectors_in_the_database_need_postgresql(tmp_path: Path) -> None:
    server = RunningServer(tmp_path, "--search-vectors", "database")
    done = subprocess.run(server.command(), capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "search.vectors = 'database' needs a PostgreSQL database: set database.url" in done.stderr
