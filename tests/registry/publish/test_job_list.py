"""The list of publish jobs: who published, the scope and administrators see a job, nobody else does."""

from collections.abc import Iterator

import pytest

from support.publishing import Registry, skill_package

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


def test_nobody_sees_any_without_a_credential(registry: Registry) -> None:
    assert registry.http.get(LIST).status_code == 401
