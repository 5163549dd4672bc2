"""Publishing by the ClawHub protocol: what is refused, and that it changes nothing."""

import hashlib
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from registry.services.ticketed_uploads import FOLDER
from support.clawhub import ClawHub, skill_md
from support.publishing import Registry
from support.routes import REGISTRY_MODE
from support.servers import RunningServer


@pytest.fixture(scope="module", params=["local", REGISTRY_MODE])
def hub(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClawHub]:
    folder: Path = tmp_path_factory.mktemp("clawhub-publishing")
    if request.param == "local":
        with RunningServer(folder) as server:
            yield ClawHub(server, "", "local")
            assert not list(server.skills_dir.glob(".skill-registry-*"))
    else:
        with Registry(folder) as registry:
            yield ClawHub(registry, registry.token("manager", "acme/ann"), "acme")


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with Registry(tmp_path_factory.mktemp("clawhub-callers")) as running:
        yield running


def refused(answer: httpx.Response, status: int, text: str) -> bool:
    """Return whether an answer refuses in one line that says why."""
    assert (answer.status_code, answer.headers["Content-Type"].partition(";")[0]) == (status, "text/plain"), answer.text
    assert text in answer.text, answer.text
    return "\n" not in answer.text


def kept(hub: ClawHub) -> list[str]:
    folder = hub.server.data_dir / FOLDER
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def slugs(hub: ClawHub) -> list[str]:
    return sorted(item["slug"] for item in hub.read("/skills", limit=100)["items"])


@pytest.mark.parametrize(
    ("files", "version", "text"),
    [
        ({"SKILL.md": skill_md("other")}, "1.0.0", "name: must be that of the skill"),
        ({"SKILL.md": skill_md("saw", "1.2.0")}, "1.3.0", "version: must be 1.3.0; SKILL.md has 1.2.0"),
        ({"README.md": b"no skill"}, "1.0.0", "SKILL.md"),
        ({"SKILL.md": b"no front matter"}, "1.0.0", "three dashes"),
        ({"SKILL.md": skill_md("saw"), "../up": b""}, "1.0.0", "../up"),
        ({"SKILL.md": skill_md("saw"), "tool": b"\x7fELF" + bytes(100)}, "1.0.0", "executable"),
        ({"SKILL.md": skill_md("saw")}, "one", "version"),
    ],
)
def test_a_form_that_is_no_skill_is_refused_with_reasons(
    hub: ClawHub, files: dict[str, bytes], version: str, text: str
) -> None:
    before = slugs(hub)
    assert refused(hub.publish_form("saw", files, version), 400, text)
    assert slugs(hub) == before


def test_a_form_needs_its_payload_and_its_files(hub: ClawHub) -> None:
    named = {"payload": '{"slug": "saw", "version": "1.0.0"}'}
    assert refused(
        hub.ask("POST", "/v1/skills", data=named, files=[("other", ("x", b"y"))]), 400, "files: are required"
    )
    files = [("files", ("SKILL.md", skill_md("saw"), "text/plain"))]
    assert refused(hub.ask("POST", "/v1/skills", files=files), 400, "payload: is required")
    for payload in ("", "{", "[]", '{"slug": "saw"}', '{"slug": 1, "version": "1.0.0"}', "x" * 70_000):
        answer = hub.ask("POST", "/v1/skills", data={"payload": payload}, files=files)
        assert answer.status_code in (400, 413), answer.text
    assert "saw" not in slugs(hub)


def test_an_uploaded_skill_that_is_refused_leaves_no_file(hub: ClawHub) -> None:
    uploads = [hub.upload("SKILL.md", skill_md("other")), hub.upload("a.txt", b"a")]
    assert len(kept(hub)) == 2
    assert refused(hub.publish_uploads("mallet", uploads), 400, "name: must be that of the skill")
    assert kept(hub) == []
    assert refused(hub.publish_uploads("mallet", uploads), 400, "was not uploaded here: publish again")


def test_tickets_of_others_and_for_other_bytes_are_refused(hub: ClawHub) -> None:
    data = skill_md("adze")
    good = hub.upload("SKILL.md", data)
    for change in (
        {"uploadTicket": "A" * 75}, {"uploadTicket": ""}, {"uploadTicket": "é"}, {"path": "other.md"},
        {"size": len(data) - 1}, {"sha256": "0" * 64}, {"storageId": "0" * 32}, {"storageId": "../x"},
    ):  # fmt: skip
        answer = hub.publish_uploads("adze", [good | change])
        assert refused(answer, 400, "files.0")
        if "storageId" not in change:
            assert kept(hub), change  # a request with a wrong ticket removes nothing
        else:
            good = hub.upload("SKILL.md", data)
    assert "adze" not in slugs(hub)
    assert hub.publish_uploads("adze", [good]).status_code == 200


def test_another_caller_cannot_use_a_ticket(registry: Registry) -> None:
    ann = ClawHub(registry, registry.token("manager", "acme/ann"), "acme")
    eve = ClawHub(registry, registry.token("manager", "acme/eve"), "acme")
    data = skill_md("adze")
    ticket = ann.ticket("SKILL.md", data).json()
    assert refused(eve.send(ticket["uploadUrl"], data), 400, "is not one of yours")
    uploaded = ann.upload("SKILL.md", data)
    assert refused(eve.publish_uploads("adze", [uploaded]), 400, "is not one of yours")
    assert ann.publish_uploads("adze", [uploaded]).status_code == 200


@pytest.mark.parametrize("sent", [b"", b"shorter", b"other bytes of the", b"longer than the ticket says it is"])
def test_other_bytes_than_those_of_the_ticket_are_not_kept(hub: ClawHub, sent: bytes) -> None:
    before = kept(hub)
    ticket = hub.ticket("a.txt", b"bytes of the ticket")
    assert refused(hub.send(ticket.json()["uploadUrl"], sent), 400, "ticket")
    assert kept(hub) == before


@pytest.mark.parametrize(
    "file",
    [
        {"path": "../up", "size": 1, "sha256": "0" * 64},
        {"path": "a", "size": 11 << 20, "sha256": "0" * 64},
        {"path": "a", "size": -1, "sha256": "0" * 64},
        {"path": "a", "size": 1, "sha256": "no"},
        {"path": "", "size": 1, "sha256": "0" * 64},
        {},
    ],
)
def test_no_ticket_is_issued_for_what_no_package_may_have(hub: ClawHub, file: dict[str, Any]) -> None:
    assert refused(hub.ask("POST", "/v1/skills/-/upload-url", json=file), 400, ": ")


def test_the_same_version_is_published_once(registry: Registry) -> None:
    hub = ClawHub(registry, registry.token("manager", "acme/ann"), "acme")
    files = {"SKILL.md": skill_md("plane")}
    assert hub.publish_tickets("plane", files).status_code == 200
    assert refused(hub.publish_tickets("plane", files), 409, "1.0.0")
    assert kept(hub) == []


def test_no_answer_holds_a_token(registry: Registry) -> None:
    token = registry.token("manager", "acme/ann")
    hub = ClawHub(registry, token, "acme")
    ticket = hub.ticket("SKILL.md", b"x")
    answers = [
        ticket,
        hub.ask("GET", "/v1/whoami"),
        hub.ask("GET", f"/v1/skills/{token}"),
        hub.send("/clawhub/x", b""),
    ]
    assert hub.publish_tickets("jointer", {"SKILL.md": skill_md("jointer")}).status_code == 200
    answers += [hub.ask("GET", f"/v1/skills/jointer{rest}") for rest in ("", "/install", "/verify", "/versions/1.0.0")]
    assert not any(token in answer.text or "eyJ" in answer.text for answer in answers)


WORDS: list[Any] = [
    "", "plane", "../..", "%2e%2e", "a/b", "é", "\u202e", "x" * 300, "0", "-1", "1.0.0", "latest", "*", "' or 1=1", "_",
    "%", "\\", "null", "acme", "local", "@acme", "{}", "[", "\U0001f600",
]  # fmt: skip


def test_fuzzed_requests_get_no_server_error_and_change_nothing(hub: ClawHub) -> None:
    hub.publish_form("fuzzed", {"SKILL.md": skill_md("fuzzed")})
    before, chance = slugs(hub), random.Random(7)

    def word() -> Any:
        return chance.choice(WORDS)

    paths = ["/v1/search", "/v1/skills", "/v1/trending", "/v1/download", "/v1/resolve", "/v1/skills/fuzzed/file"]
    paths += [f"/v1/skills/fuzzed/{part}" for part in ("versions", "verify", "install", "moderation")]
    names = ["q", "limit", "cursor", "prefix", "slug", "ownerHandle", "version", "tag", "hash", "path", "mode"]
    for _ in range(150):
        query = {chance.choice(names): word() for _ in range(3)}
        answer = hub.ask("GET", chance.choice(paths), params=query)
        assert answer.status_code < 500, (answer.url, answer.text)
        slug = httpx.URL("/").copy_with(path=f"/{word()}").raw_path.decode()
        answer = hub.ask(chance.choice(["GET", "DELETE", "POST"]), f"/v1/skills{slug}/versions{slug}")
        assert answer.status_code < 500, (answer.url, answer.text)
    bodies = [b"", b"{", b"[]", b"null", b"\xff", b'{"files": 1}', b'{"items": [1]}', b"[" * 10_000]
    for _ in range(60):
        body = chance.choice([*bodies, json.dumps({chance.choice([*names, "files", "items"]): word()}).encode()])
        kind = chance.choice(
            ["application/json", "multipart/form-data", "multipart/form-data; boundary=x", "text/plain"]
        )
        path = chance.choice(["", "/-/upload-url", "/-/security-verdicts", "/absent/undelete"])
        answer = hub.ask("POST", f"/v1/skills{path}", content=body, headers={"Content-Type": kind})
        assert answer.status_code < 500, (path, body, answer.text)
    for _ in range(30):
        sha256 = hashlib.sha256(b"").hexdigest()
        query = {"path": word(), "size": word(), "sha256": chance.choice([sha256, word()])}
        assert hub.ask("POST", f"/v1/uploads/{chance.randbytes(8).hex()}", params=query).status_code in (400, 422)
    assert slugs(hub) == before
    assert kept(hub) == []
