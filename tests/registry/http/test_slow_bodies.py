"""What is true when the last byte of a body arrives decides, and not what was true when the first one came."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from support.credentials import make_key
from support.publishing import Registry, skill_package
from support.raw_http import Connection, RawAnswer
from support.servers import bearer, new_skill


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with Registry(tmp_path_factory.mktemp("registry")) as running:
        yield running


def begin(
    registry: Registry, method: str, path: str, headers: Mapping[str, str], body: Any
) -> Callable[[], tuple[int, str]]:
    """Send the head of a request and a byte of its body. Returns what sends the rest and returns status and code."""
    content = json.dumps(body).encode()
    head = {"Host": "localhost", "Content-Type": "application/json", "Content-Length": len(content), **headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    connection = Connection(registry.http.base_url.port or 0)
    connection.send(f"{method} /api/v1{path} HTTP/1.1\r\n{lines}\r\n".encode() + content[:1])
    time.sleep(0.3)  # the head arrives alone

    def end() -> tuple[int, str]:
        with connection:
            answer: RawAnswer = connection.ask(content[1:])
        return answer.status, answer.json.get("error", {}).get("code", "")

    return end


CHANGES = {
    "update": ("PUT", "", {"description": "Changed by a user of another scope."}),
    "new version": ("POST", "/versions", {"version": "9.0.0", "description": "Of another scope."}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_record_that_another_scope_creates_meanwhile_is_not_changed(registry: Registry, change: str) -> None:
    method, path, body = CHANGES[change]
    name = f"record-{change.replace(' ', '-')}"
    end = begin(registry, method, f"/skills/{name}{path}", registry.caller("beta/bob"), body)
    made = registry.api("POST", "/skills", json=new_skill(name), headers=registry.caller("alpha/ann"))
    assert made.status_code == 201, made.text
    assert end() == (403, "FORBIDDEN")
    kept = registry.api("GET", f"/skills/{name}", headers=registry.caller("alpha/ann")).json()["data"]
    assert (kept["description"], kept["version"]) == (made.json()["data"]["description"], "1.0.0")


def test_a_skill_that_another_scope_publishes_meanwhile_is_not_disabled(registry: Registry) -> None:
    end = begin(registry, "PUT", "/skills/alpha/folding", registry.caller("beta/bob"), {"enabled": False})
    registry.finished(registry.publish(skill_package("folding"), registry.caller("alpha/ann")))
    assert end() == (403, "FORBIDDEN")
    assert registry.api("GET", "/skills/alpha/folding", headers=registry.caller()).json()["data"]["enabled"] is True


def test_a_key_that_is_revoked_meanwhile_changes_nothing(registry: Registry) -> None:
    admin = bearer(registry.token("admin"))
    key = make_key(registry, role="manager")
    caller = {"x-api-key": key["key"]}
    assert registry.api("POST", "/skills", json=new_skill("kept"), headers=caller).status_code == 201
    end = begin(registry, "PUT", "/skills/kept", caller, {"description": "Written too late."})
    assert registry.api("DELETE", f"/auth/keys/{key['id']}", headers=admin).status_code == 200
    time.sleep(0.5)
    assert end() == (401, "UNAUTHORIZED")
    assert registry.api("GET", "/skills/kept", headers=admin).json()["data"]["description"] != "Written too late."


def test_a_slow_body_of_a_good_key_is_taken(registry: Registry) -> None:
    key = {"x-api-key": make_key(registry, role="manager")["key"]}
    registry.api("POST", "/skills", json=new_skill("slow"), headers=key)
    end = begin(registry, "PUT", "/skills/slow", key, {"description": "Written in two pieces."})
    time.sleep(0.5)
    assert end() == (200, "")
