"""What is told of publishing besides the job: entries of the transparency log, and webhooks."""

import base64
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from registry.transparency.checkpoint import Verifier
from registry.transparency.merkle import is_included, leaf_hash
from support.publishing import Registry, skill_package
from support.web_server import WebServer, reply


@pytest.fixture(scope="module")
def hooks(database_setting: Mapping[str, str]) -> Iterator[WebServer]:  # one for each database: who tells it is known
    with WebServer({"/passed": reply(b""), "/failed": reply(b"", 500)}) as running:
        yield running


@pytest.fixture(scope="module")
def registry(
    tmp_path_factory: pytest.TempPathFactory, hooks: WebServer, database_setting: Mapping[str, str]
) -> Iterator[Registry]:
    environment = {
        **database_setting,
        "SKILL_REGISTRY_OUTBOUND_ALLOWED_HOSTS": hooks.host,
        "SKILL_REGISTRY_WEBHOOKS_VALIDATION_PASSED_URL": f"{hooks.url}/passed",
        "SKILL_REGISTRY_WEBHOOKS_VALIDATION_FAILED_URL": f"{hooks.url}/failed",
    }
    folder: Path = tmp_path_factory.mktemp("told")
    with Registry(folder, env=environment) as running:
        yield running


def entries(registry: Registry) -> list[dict[str, Any]]:
    texts = registry.get("/api/v1/log/entries").json()["data"]["entries"]
    return [json.loads(text) for text in texts]


def test_each_change_of_a_version_is_in_the_log_once(registry: Registry) -> None:
    job = registry.finished(registry.publish(skill_package("logged")))
    yanker = registry.caller()
    for change in ("yank", "yank", "unyank"):
        path = f"/api/v1/registry/skills/acme/logged/1.0.0/{change}"
        assert registry.http.post(path, headers=yanker).status_code == 200
    told = [entry for entry in entries(registry) if entry.get("skill_id") == "acme/logged"]
    assert [entry["kind"] for entry in told] == ["publish", "yank", "unyank"]
    assert {entry["sha256"] for entry in told} == {job["checksum"]}
    assert all(entry["digest"].startswith("sha256:") for entry in told)


def test_what_was_published_can_be_proved_with_the_public_key(registry: Registry) -> None:
    registry.finished(registry.publish(skill_package("proved")))
    key = registry.get("/api/v1/log/key").json()["data"]["key"]
    _, size, root = Verifier(key).read(registry.get("/api/v1/log/checkpoint").text)
    texts = registry.get("/api/v1/log/entries").json()["data"]["entries"]
    number = next(number for number, text in enumerate(texts) if '"acme/proved"' in text)
    proof = registry.get(f"/api/v1/log/inclusion?number={number}&size={size}").json()["data"]["proof"]
    steps = [base64.b64decode(step) for step in proof]
    assert is_included(leaf_hash(texts[number].encode()), number, size, steps, root)


def test_a_hook_is_told_once_and_one_that_fails_holds_up_nothing(registry: Registry, hooks: WebServer) -> None:
    job = registry.finished(registry.publish(skill_package("told")))
    registry.wait_for(lambda: any(b"acme/told" in body for _, body in hooks.posted))
    told = [json.loads(body) for _, body in hooks.posted if b"acme/told" in body]
    assert [(one["event"], one["job_id"]) for one in told] == [("all_checks_passed", job["job_id"])]
    assert told[0]["checksum"] == job["checksum"]
