"""`publish.scope_bytes` bounds the packages of one scope, those in flight too, and no other scope pays for it."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from support.publishing import Registry, skill_package

PACKAGES = [skill_package(f"skill-{number}") for number in range(12)]
ROOM_FOR = 5


def test_a_scope_publishes_no_more_than_its_bytes(tmp_path: Path, database_setting: Mapping[str, str]) -> None:
    size = max(len(package) for package in PACKAGES)
    limit = {"SKILL_REGISTRY_PUBLISH_SCOPE_BYTES": str(size * ROOM_FOR)}
    with Registry(tmp_path, env={**database_setting, **limit}) as registry:
        ann, bob = registry.caller("acme/ann"), registry.caller("acme-tools/bob")
        with ThreadPoolExecutor(len(PACKAGES)) as pool:
            answers = list(pool.map(lambda package: registry.publish(package, ann), PACKAGES))
        taken = [answer for answer in answers if answer.is_success]
        refused = [answer for answer in answers if not answer.is_success]
        assert len(taken) == ROOM_FOR
        assert {answer.status_code for answer in refused} == {403}
        message = refused[0].json()["error"]["message"]
        assert "scope 'acme'" in message
        assert "publish.scope_bytes" in message
        jobs = [registry.finished(answer) for answer in taken]
        assert {job["status"] for job in jobs} == {"accepted"}
        first = jobs[0]["skill_id"]
        assert registry.http.post(f"/api/v1/registry/skills/{first}/1.0.0/yank", headers=ann).is_success
        again = registry.publish(skill_package(first.partition("/")[2], "1.0.1"), ann)
        assert again.status_code == 403  # the file of a yanked version is still kept
        checked = registry.http.post(
            "/api/v1/registry/publish/check",
            files={"package": ("package.zip", PACKAGES[answers.index(refused[0])], "application/zip")},
            headers=ann,
        )
        assert checked.status_code == 403
        assert registry.finished(registry.publish(PACKAGES[0], bob))["status"] == "accepted"
