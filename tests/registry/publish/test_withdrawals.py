"""Yank, revoke and deprecate with a reason and a replacement: where both are to be read, and what is refused."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from registry.config.types import DatabaseUrl
from registry.database import open_url
from registry.transparency.log import LogEntry, canonical
from support.commands import Done
from support.publishing import Registry, index_file, skill_package
from support.waiting import wait_until
from support.web_server import WebServer, reply

WHY = "it loses the last field of a form"
INSTEAD = "acme/forms@^2.1"
NOTE = {"reason": WHY, "replacement": INSTEAD}


@pytest.fixture(scope="module")
def hooks(database_setting: Mapping[str, str]) -> Iterator[WebServer]:
    with WebServer({"/withdrawn": reply(b"")}) as running:
        yield running


@pytest.fixture(scope="module")
def registry(
    tmp_path_factory: pytest.TempPathFactory, hooks: WebServer, database_setting: Mapping[str, str]
) -> Iterator[Registry]:
    environment = {
        **database_setting,
        "SKILL_REGISTRY_OUTBOUND_ALLOWED_HOSTS": hooks.host,
        "SKILL_REGISTRY_WEBHOOKS_WITHDRAWN_URL": f"{hooks.url}/withdrawn",
    }
    with Registry(tmp_path_factory.mktemp("withdrawals"), env=environment) as running:
        yield running


def publish(registry: Registry, name: str, *versions: str) -> str:
    for version in versions:
        assert registry.finished(registry.publish(skill_package(name, version)))["status"] == "accepted"
    return f"acme/{name}"


def change(registry: Registry, path: str, body: Any = None, role: str = "admin") -> dict[str, Any]:
    answer = registry.http.post(f"/api/v1/registry/skills/{path}", json=body, headers=registry.caller("acme/ann", role))
    return dict(answer.json()) | {"status": answer.status_code}


def entries(registry: Registry) -> list[dict[str, Any]]:
    texts = registry.get("/api/v1/log/entries").json()["data"]["entries"]
    assert [canonical(LogEntry(**json.loads(text))).decode() for text in texts] == texts
    return [json.loads(text) for text in texts]


def data(registry: Registry, path: str) -> Any:
    answer = registry.get(path, registry.caller())
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]


def lines(registry: Registry, skill_id: str) -> dict[str, Any]:
    """Return what the index says of the withdrawals of a skill, by version."""
    found = [json.loads(line) for line in registry.get(f"/index/{skill_id}").text.splitlines()]
    return {line["vers"]: (line["yanked"], line.get("withdrawn")) for line in found}


def as_shown(entry: Mapping[str, Any], state: str) -> dict[str, Any]:
    return {"state": state, "at": entry["at"], "reason": WHY, "replacement": INSTEAD}


def test_the_reason_of_a_yank_is_in_log_index_version_audit_and_webhook(registry: Registry, hooks: WebServer) -> None:
    skill_id = publish(registry, "yanked", "1.0.0", "1.1.0")
    assert change(registry, f"{skill_id}/1.1.0/yank", NOTE)["status"] == 200
    entry = entries(registry)[-1]
    assert (entry["kind"], entry["version"], entry["reason"], entry["replacement"]) == ("yank", "1.1.0", WHY, INSTEAD)
    assert lines(registry, skill_id) == {"1.0.0": (False, None), "1.1.0": (True, as_shown(entry, "yanked"))}
    wait_until(lambda: any(WHY in line for line in index_file(registry.remote, skill_id)))
    version = data(registry, f"/api/code/v1/skills/{skill_id}/versions/1.1.0")
    assert version["withdrawn"] == as_shown(entry, "yanked")
    assert "withdrawn" not in data(registry, f"/api/code/v1/skills/{skill_id}/versions/1.0.0")
    audited = registry.get("/api/v1/audit", registry.caller("root", "admin")).json()["data"]
    assert [one["action"] for one in audited if f"{skill_id}@1.1.0 yanked: {WHY}" in one["detail"]]
    wait_until(lambda: any(skill_id.encode() in body for _, body in hooks.posted))
    sent = json.loads(next(body for _, body in hooks.posted if skill_id.encode() in body))
    assert (sent["event"], sent["hook"], sent["version"], sent["reason"], sent["replacement"]) == (
        *("yank", "withdrawn", "1.1.0"),
        *(WHY, INSTEAD),
    )
    assert change(registry, f"{skill_id}/1.1.0/unyank")["status"] == 200
    assert lines(registry, skill_id)["1.1.0"] == (False, None)


def test_a_version_of_which_no_other_is_left_says_why(registry: Registry) -> None:
    skill_id = publish(registry, "alone", "1.0.0")
    assert change(registry, f"{skill_id}/1.0.0/revoke", NOTE)["data"]["state"] == "revoked"
    version = data(registry, f"/api/code/v1/skills/{skill_id}/versions/1.0.0")
    assert version["withdrawn"] == as_shown(entries(registry)[-1], "revoked")
    assert registry.get(f"/api/v1/skills/{skill_id}").status_code == 404


def test_a_deprecated_skill_stays_and_every_version_of_it_is_marked(registry: Registry) -> None:
    skill_id = publish(registry, "old", "1.0.0", "1.1.0")
    assert change(registry, f"{skill_id}/deprecate", NOTE, "manager")["data"]["deprecated"] is True
    entry = entries(registry)[-1]
    assert (entry["kind"], entry["skill_id"], "version" in entry) == ("deprecate", skill_id, False)
    shown = as_shown(entry, "deprecated")
    assert lines(registry, skill_id) == {"1.0.0": (False, shown), "1.1.0": (False, shown)}
    assert data(registry, f"/api/v1/skills/{skill_id}")["withdrawn"] == shown
    hits = registry.http.post("/api/search", json={"query": skill_id}, headers=registry.caller()).json()["data"]
    assert [hit["skill"]["withdrawn"] for hit in hits["skills"] if hit["skill"]["id"] == skill_id] == [shown]
    publish(registry, "old", "1.2.0")
    assert data(registry, f"/api/v1/skills/{skill_id}")["withdrawn"] == shown
    assert change(registry, f"{skill_id}/undeprecate", role="manager")["data"]["deprecated"] is False
    assert "withdrawn" not in data(registry, f"/api/v1/skills/{skill_id}")
    assert set(lines(registry, skill_id).values()) == {(False, None)}


def test_of_near_copies_a_deprecated_one_is_not_shown_first(registry: Registry) -> None:
    body = "# Kettle\n\n" + "".join(f"Step {number}: heat the water to {number} degrees.\n" for number in range(40))
    for caller in ("acme/ann", "other/bob"):
        answer = registry.publish(skill_package("kettle", "1.0.0", body), registry.caller(caller))
        assert registry.finished(answer)["status"] == "accepted"

    def first() -> str:
        hits = registry.http.post("/api/search", json={"query": "heat water degrees"}, headers=registry.caller())
        return str(hits.json()["data"]["skills"][0]["skill"]["id"])

    assert first() == "acme/kettle"
    assert change(registry, "acme/kettle/deprecate", NOTE)["status"] == 200
    assert first() == "other/kettle"


def test_the_same_again_adds_no_entry_and_another_reason_does(registry: Registry) -> None:
    skill_id = publish(registry, "again", "1.0.0", "1.1.0")
    change(registry, f"{skill_id}/1.0.0/yank")
    change(registry, f"{skill_id}/deprecate")
    size = len(entries(registry))
    change(registry, f"{skill_id}/1.0.0/yank")
    change(registry, f"{skill_id}/deprecate")
    change(registry, f"{skill_id}/deprecate", {})
    assert len(entries(registry)) == size
    change(registry, f"{skill_id}/1.0.0/yank", NOTE)
    change(registry, f"{skill_id}/1.0.0/yank", NOTE)
    change(registry, f"{skill_id}/deprecate", NOTE)
    assert len(entries(registry)) == size + 2
    assert lines(registry, skill_id)["1.0.0"][1]["reason"] == WHY


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"reason": ""}, "reason"),
        ({"reason": "two\nlines"}, "reason"),
        ({"reason": "x" * 501}, "reason"),
        ({"reason": 5}, "reason"),
        ({"reason": ["x"]}, "reason"),
        ({"replacement": "forms"}, "replacement"),
        ({"replacement": "acme/forms@newest"}, "replacement"),
        ({"replacement": "acme/forms@^1.2\n@"}, "replacement"),
        ([], "body"),
    ],
)
def test_a_note_that_breaks_a_rule_changes_nothing(registry: Registry, body: Any, field: str) -> None:
    skill_id = publish_once(registry, "kept", "1.0.0")
    before = entries(registry)
    for path in (f"{skill_id}/1.0.0/yank", f"{skill_id}/1.0.0/revoke", f"{skill_id}/deprecate"):
        answer = change(registry, path, body)
        assert (answer["status"], answer["error"]["code"]) == (400, "VALIDATION_ERROR"), answer
        assert [fault["field"] for fault in answer["error"]["details"]] == [field]
    assert entries(registry) == before


def publish_once(registry: Registry, name: str, version: str) -> str:
    if registry.get(f"/api/v1/skills/acme/{name}").status_code == 404:
        publish(registry, name, version)
    return f"acme/{name}"


def test_only_the_scope_and_administrators_deprecate(registry: Registry) -> None:
    skill_id = publish_once(registry, "kept", "1.0.0")
    path = f"/api/v1/registry/skills/{skill_id}/deprecate"
    for caller, status in ((("other/eve", "manager"), 403), (("acme/bob", "user"), 403)):
        assert registry.http.post(path, json=NOTE, headers=registry.caller(*caller)).status_code == status
    assert change(registry, "acme/nothing/deprecate", NOTE)["status"] == 404
    assert change(registry, "acme/nothing/undeprecate")["status"] == 404


def test_the_commands_take_a_reason_and_a_replacement(registry: Registry, tmp_path: Path) -> None:
    skill_id = publish(registry, "commanded", "1.0.0", "1.1.0", "1.2.0")
    flags = ("--reason", WHY, "--replacement", INSTEAD, "--server", registry.url)
    for arguments, state in (
        (("yank", f"{skill_id}@1.0.0", *flags), "yanked"),
        (("revoke", f"{skill_id}@1.1.0", *flags), "revoked"),
        (("deprecate", skill_id, *flags), "deprecated"),
    ):
        done = Done(tmp_path, *arguments)
        assert done.code == 0, done.error
        withdrawn = {version: found[1]["state"] for version, found in lines(registry, skill_id).items() if found[1]}
        assert state in withdrawn.values()
    assert Done(tmp_path, "undeprecate", skill_id, "--server", registry.url).code == 0
    refused = Done(tmp_path, "yank", f"{skill_id}@1.2.0", "--reason", "a\nb", "--server", registry.url)
    assert (refused.code, "must be one line" in refused.error) == (2, True), refused.error
    assert Done(tmp_path, "deprecate", f"{skill_id}@1.2.0", "--server", registry.url).code == 2


def test_a_reason_that_was_changed_in_the_database_is_found(tmp_path: Path) -> None:
    with Registry(tmp_path / "registry") as registry:
        skill_id = publish(registry, "evidence", "1.0.0", "1.1.0")
        change(registry, f"{skill_id}/1.0.0/revoke", NOTE)
        change(registry, f"{skill_id}/deprecate", NOTE)
        wait_until(lambda: any("deprecated" in line for line in index_file(registry.remote, skill_id)))
        data_dir = registry.data_dir
    arguments = ("fsck", "--data-dir", str(data_dir), "--blobs-dir", str(registry.blobs))
    index = ("--registry-index-url", str(registry.remote), "--skills-dir", str(registry.skills_dir))
    clean = Done(tmp_path, *arguments, *index)
    assert clean.code == 0, clean.out + clean.error
    url = DatabaseUrl(f"sqlite:///{data_dir / 'skill-registry.db'}")
    database = open_url(url)
    with database.write() as transaction:
        sql = "update log_entries set entry = replace(entry, ?, 'for no reason') where withdraws = ?"
        assert transaction.execute(sql, (WHY, f"{skill_id}@1.0.0")) == 1
    database.close()
    found = Done(tmp_path, *arguments, *index)
    assert (found.code, "does not match its hash" in found.out) == (1, True), found.out + found.error
