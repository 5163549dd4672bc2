"""The names of published skills: nobody else takes them, on any route, and nothing of that name comes before them."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import httpx
import pytest

from registry.publish.lookalikes import skeleton
from support.publishing import Registry, skill_package
from support.servers import new_skill, write_skill

EVE = "umbrella/eve"
CREATE = ("/api/skills", "/api/v1/skills", "/api/code/v1/skills", "/v1/skills")
TAKEN = ("stripe-payments", "stripepayments", "str1pe-payments", "stripe_payments")
SHOWN = ("acme/stripe-payments", "Stripe Payments", "STRIPE payments", "Strip\u0435 Payments", "Str\u00efpe-Payments")


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    folder = tmp_path_factory.mktemp("registry")
    with Registry(folder, "--install-allowed-root", str(folder)) as running:
        job = running.finished(running.publish(skill_package("stripe-payments")))
        assert job["status"] == "accepted", job
        yield running


def send(registry: Registry, method: str, path: str, caller: str = EVE, role: str = "manager", **body: Any) -> Any:
    return registry.http.request(method, path, json=body or None, headers=registry.caller(caller, role))


def error(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def created(registry: Registry, skill_id: str, caller: str = EVE, role: str = "manager", **fields: Any) -> None:
    answer = send(registry, "POST", "/api/v1/skills", caller, role, **new_skill(skill_id, **fields))
    assert answer.status_code == 201, answer.text


def found(registry: Registry, query: str) -> list[str]:
    answer = registry.http.post("/api/v1/search", json={"query": query}, headers=registry.caller())
    return [hit["skill"]["id"] for hit in answer.json()["data"]["skills"]]


def resolved(registry: Registry, prompt: str) -> list[str]:
    answer = registry.http.post("/api/v1/resolve", json={"prompt": prompt}, headers=registry.caller())
    return [result["skill_id"] for result in answer.json()["data"]["results"]]


@pytest.mark.parametrize("name", [*TAKEN, *SHOWN])
def test_names_that_look_alike_have_one_skeleton(name: str) -> None:
    assert skeleton(name) == skeleton("acme/stripe-payments")


@pytest.mark.parametrize("path", CREATE)
@pytest.mark.parametrize("skill_id", TAKEN)
def test_no_record_takes_the_id_of_a_published_skill(registry: Registry, path: str, skill_id: str) -> None:
    answer = send(registry, "POST", path, **new_skill(skill_id, name="Something else"))
    assert error(answer) == (409, "CONFLICT")
    assert "'acme/stripe-payments'" in answer.json()["error"]["message"]
    assert error(registry.get(f"/api/v1/skills/{skill_id}")) == (404, "SKILL_NOT_FOUND")


@pytest.mark.parametrize("path", CREATE)
@pytest.mark.parametrize("name", SHOWN)
def test_no_record_is_shown_under_the_name_of_a_published_skill(registry: Registry, path: str, name: str) -> None:
    assert error(send(registry, "POST", path, **new_skill("harmless", name=name))) == (409, "CONFLICT")


@pytest.mark.parametrize("path", ["/api/skills", "/api/v1/skills", "/api/code/v1/skills"])
def test_no_record_is_renamed_to_a_published_skill(registry: Registry, path: str) -> None:
    skill_id = f"renamed-{path.strip('/').replace('/', '-')}"
    created(registry, skill_id)
    for name in SHOWN:
        assert error(send(registry, "PUT", f"{path}/{skill_id}", name=name)) == (409, "CONFLICT")
    assert send(registry, "PUT", f"{path}/{skill_id}", name="Another name").status_code == 200


def test_no_installation_takes_the_name_of_a_published_skill(registry: Registry) -> None:
    folder = registry.data_dir.parent / "elsewhere"
    titled = write_skill(folder, "another", "Is another skill.")
    (titled / "skill-project.toml").write_text('[metadata]\nname = "Stripe Payments"\n')
    write_skill(folder, "stripepayments", "Is another skill.")
    for name in ("another", "stripepayments"):
        origin = {"type": "local", "path": str(folder / name)}
        assert error(send(registry, "POST", "/api/v1/skills", origin=origin)) == (409, "CONFLICT")
        job = send(registry, "POST", "/api/v1/skills?async=true", origin=origin).json()["data"]
        path = f"/api/v1/installs/{job['job_id']}"
        registry.wait_for(partial(lambda path: "CONFLICT" in send(registry, "GET", path).text, path))
        assert not (registry.skills_dir / name).exists()


def test_its_own_scope_and_administrators_may_use_the_name(registry: Registry) -> None:
    created(registry, "stripe-payments", "acme/bob")
    assert send(registry, "DELETE", "/api/v1/skills/stripe-payments", "acme/ann").status_code == 200
    created(registry, "stripe-payments", "root", "admin")
    assert send(registry, "DELETE", "/api/v1/skills/stripe-payments", "root", "admin").status_code == 200


def test_nothing_with_its_name_comes_before_a_published_skill(registry: Registry) -> None:
    created(registry, "stripe-payments", "root", "admin", description="stripe payments " * 20)
    created(registry, "spoof-one", "root", "admin", name="acme/stripe-payments")
    created(registry, "spoof-two", "root", "admin", name="Stripe Payments")
    try:
        for query in (
            "stripe-payments",
            "acme/stripe-payments",
            "Stripe Payments",
            "STRIPE_payments",
            "stripepayments",
            "/stripe-payments",
            "@acme/stripe-payments",
            "use the Stripe Payments skill",
        ):
            assert found(registry, query)[0] == "acme/stripe-payments", query
            assert resolved(registry, query)[0] == "acme/stripe-payments", query
        assert found(registry, "spoof-one")[0] == "spoof-one"
    finally:
        for skill_id in ("stripe-payments", "spoof-one", "spoof-two"):
            send(registry, "DELETE", f"/api/v1/skills/{skill_id}", "root", "admin")


def test_an_original_keeps_its_exact_name(registry: Registry) -> None:
    """A folder or a record that was there before is not replaced by a package with its name."""
    write_skill(registry.skills_dir, "merge-ledgers", "Merges the ledgers of two shops.")
    created(registry, "split-ledgers", "acme/bob", description="Splits a ledger.")
    registry.wait_for(lambda: registry.get("/api/v1/skills/merge-ledgers").status_code == 200)
    for name in ("merge-ledgers", "split-ledgers"):
        job = registry.finished(registry.publish(skill_package(name), registry.caller(EVE)))
        assert job["status"] == "accepted"
        for query in (name, f"/{name}", f"use the {name} skill"):
            assert found(registry, query)[:2] == [name, f"umbrella/{name}"], query


def test_an_id_comes_before_a_title_of_another_package(registry: Registry) -> None:
    titled = skill_package("ledger-tool", files={"skill-project.toml": b'[metadata]\nname = "Ledger Close"\n'})
    registry.finished(registry.publish(titled, registry.caller(EVE)))
    registry.finished(registry.publish(skill_package("ledger-close")))
    assert found(registry, "ledger close")[0] == "acme/ledger-close"


@pytest.mark.parametrize("name", ["upgrade", "install", "versions", "search", "content", "files", "dependents"])
def test_reserved_names_are_no_ids(registry: Registry, name: str) -> None:
    for path in CREATE:
        assert error(send(registry, "POST", path, "root", "admin", **new_skill(name))) == (400, "VALIDATION_ERROR")
    folder = registry.data_dir.parent / "reserved"
    write_skill(folder, name, "Has a reserved name.")
    origin = {"type": "local", "path": str(folder / name)}
    answer = send(registry, "POST", "/api/v1/skills", "root", "admin", origin=origin)
    assert (answer.status_code, answer.json()["data"]["id"]) == (201, f"{name}-skill"), answer.text
    assert registry.publish(skill_package(name)).status_code == 400


def test_a_record_belongs_to_the_scope_that_created_it(registry: Registry) -> None:
    created(registry, "owned", "acme/ann")
    assert registry.get("/api/v1/skills/owned").json()["data"]["scope"] == "acme"
    for prefix in ("/api", "/api/v1", "/api/code/v1"):
        path = f"{prefix}/skills/owned"
        assert error(send(registry, "PUT", path, name="Mine")) == (403, "FORBIDDEN")
        assert error(send(registry, "DELETE", path)) == (403, "FORBIDDEN")
    for prefix in ("/api/v1", "/api/code/v1", "/v1"):
        path = f"{prefix}/skills/owned/versions"
        assert error(send(registry, "POST", path, version="2.0.0")) == (403, "FORBIDDEN")
        assert error(send(registry, "DELETE", f"{path}/1.0.0")) == (403, "FORBIDDEN")
    assert send(registry, "PUT", "/api/v1/skills/owned", "acme/bob", name="Ours").status_code == 200
    assert send(registry, "POST", "/api/v1/skills/owned/versions", "acme/bob", version="2.0.0").status_code == 201
    assert send(registry, "PUT", "/api/v1/skills/owned", "root", "admin", name="Mine").status_code == 200
    assert send(registry, "DELETE", "/api/v1/skills/owned", "acme/bob").status_code == 200


def test_a_record_without_a_scope_is_changed_by_any_manager(registry: Registry) -> None:
    created(registry, "ownerless", "root", "admin")
    body, administrator = {"name": "key", "role": "manager"}, registry.caller("root", "admin")
    key = registry.http.post("/api/v1/auth/keys", json=body, headers=administrator).json()["data"]["key"]
    headers = {"x-api-key": key}
    answer = registry.http.post("/api/v1/skills", json=new_skill("of-nobody"), headers=headers)
    assert (answer.status_code, answer.json()["data"]["scope"]) == (201, None)
    assert send(registry, "PUT", "/api/v1/skills/of-nobody", name="Changed").status_code == 200
    assert registry.http.put("/api/v1/skills/ownerless", json={"name": "X"}, headers=headers).status_code == 403
