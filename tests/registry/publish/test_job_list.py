"""The list of publish jobs: who published, the scope and administrators see a job, nobody else does."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from support.publishing import Registry, skill_package
from support.waiting import wait_until

LIST = "/api/v1/registry/publish"


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with Registry(tmp_path_factory.mktemp("jobs")) as running:
        for name in ("acme/ann", "other/bob"):
            running.finished(running.publish(skill_package("listed"), running.caller(name)))
        running.finished(running.publish(skill_package("listed", "1.1.0"), running.caller("acme/carl")))
        yield running


def listed(registry: Registry, name: str, role: str, query: str = "") -> tuple[list[str], int]:
    answer = registry.http.get(f"{LIST}{query}", headers=registry.caller(name, role))
    assert answer.status_code == 200, answer.text
    jobs = [f"{job['skill_id']} {job['version']}" for job in answer.json()["data"]]
    return jobs, answer.json()["pagination"]["total"]


def test_administrators_see_all_jobs_newest_first_in_pages(registry: Registry) -> None:
    every = ["acme/listed 1.1.0", "other/listed 1.0.0", "acme/listed 1.0.0"]
    assert listed(registry, "root", "admin") == (every, 3)
    assert listed(registry, "root", "admin", "?limit=1&offset=1") == (every[1:2], 3)
    first = registry.http.get(f"{LIST}?limit=1", headers=registry.caller("root", "admin"))
    assert "offset=1" in first.links["next"]["url"]


def test_callers_without_a_credential_see_no_jobs_whatever_users_are_called(tmp_path: Path) -> None:
    with Registry(tmp_path, "--auth-anonymous-read") as registry:
        job = registry.finished(registry.publish(skill_package("listed"), registry.caller("anonymous")))
        assert registry.http.get(LIST).json()["data"] == []
        assert registry.http.get(f"{LIST}/{job['job_id']}/status").status_code == 404


@pytest.mark.parametrize(
    ("name", "role", "jobs"),
    [
        ("acme/ann", "manager", ["acme/listed 1.1.0", "acme/listed 1.0.0"]),
        ("acme/reader", "user", ["acme/listed 1.1.0", "acme/listed 1.0.0"]),
        ("other/bob", "manager", ["other/listed 1.0.0"]),
        ("acm/ann", "manager", []),
    ],
)
def test_others_see_those_of_their_scope(registry: Registry, name: str, role: str, jobs: list[str]) -> None:
    assert listed(registry, name, role) == (jobs, len(jobs))


def test_administrators_retry_a_job_that_is_set_aside(registry: Registry) -> None:
    def retry(job_id: str, name: str, role: str) -> httpx.Response:
        return registry.http.post(f"{LIST}/{job_id}/retry", headers=registry.caller(name, role))

    admin = registry.caller("root", "admin")
    job_id = registry.set_aside("acme/deadly")
    others = {job["job_id"]: job["set_aside"] for job in registry.http.get(LIST, headers=admin).json()["data"]}
    assert others.pop(job_id) is True
    assert set(others.values()) == {False}
    assert retry(job_id, "acme/ann", "manager").status_code == 403
    assert registry.job(job_id, admin)["set_aside"] is True
    answer = retry(job_id, "root", "admin")
    assert (answer.status_code, answer.json()["data"]["set_aside"]) == (200, False)
    wait_until(lambda: registry.job(job_id, admin)["status"] == "accepted")
    assert registry.job(job_id, admin)["errors"] == []
    assert [retry(one, "root", "admin").status_code for one in (job_id, *others, "absent")] == [404] * 5
    audit = registry.http.get("/api/v1/audit", headers=admin).json()["data"]
    assert any(entry["actor"] == "root" and "acme/deadly@1.0.0" in entry["detail"] for entry in audit)


def test_a_job_whose_version_was_uploaded_again_cannot_be_retried(registry: Registry) -> None:
    admin = registry.caller("root", "admin")
    job_id = registry.set_aside("acme/again")
    registry.finished(registry.publish(skill_package("again")))
    assert registry.job(job_id, admin)["set_aside"] is False
    answer = registry.http.post(f"{LIST}/{job_id}/retry", headers=admin)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "CONFLICT")


def test_nobody_sees_any_without_a_credential(registry: Registry) -> None:
    assert registry.http.get(LIST).status_code == 401
