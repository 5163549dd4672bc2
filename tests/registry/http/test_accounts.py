"""A caller is one, whatever names it chooses for its tokens: requests, votes and uploads are counted together."""

from pathlib import Path

from support.clawhub import ClawHub
from support.credentials import admin_key, get_token
from support.publishing import Registry
from support.servers import bearer, new_skill

CLOSED = ("--auth-issuer", "closed")


def key_of(registry: Registry, admin: str, **fields: str) -> dict[str, str]:
    """Return the header of a new API key."""
    body = {"name": "ci", **fields}
    answer = registry.api("POST", "/auth/keys", json=body, headers={"x-api-key": admin})
    assert answer.status_code == 201, answer.text
    return {"x-api-key": answer.json()["data"]["key"]}


def named(registry: Registry, credential: dict[str, str], username: str, role: str = "user") -> dict[str, str]:
    """Return the header of a token of this name that a credential was exchanged for."""
    answer = get_token(registry, credential, username=username, role=role)
    assert answer.status_code == 200, answer.text
    return bearer(answer.json()["data"]["token"])


def test_names_of_tokens_give_no_further_requests(tmp_path: Path) -> None:
    admin = admin_key(tmp_path)
    with Registry(tmp_path, *CLOSED, "--limits-reads-per-minute", "10") as registry:
        ann = key_of(registry, admin, scope="acme")
        tokens = [named(registry, ann, f"acme/{number}") for number in range(3)]
        tokens.append(named(registry, tokens[0], "acme/other"))
        statuses = [registry.api("GET", "/skills", headers=token).status_code for token in [ann, *tokens] * 6]
        assert statuses.count(200) < len(statuses)
        # An administrator gives tokens to other people. Each of them has a limit of its own.
        for name in ("acme/bob", "acme/cid"):
            theirs = named(registry, {"x-api-key": admin}, name)
            assert registry.api("GET", "/skills", headers=theirs).status_code == 200
            again = named(registry, theirs, f"{name}-2")
            answers = [registry.api("GET", "/skills", headers=one) for one in (theirs, again)]
            left = [int(answer.headers["RateLimit-Remaining"]) for answer in answers]
            assert left in ([8, 7], [8, 9], [9, 8])  # the next minute may have begun


def test_tokens_count_as_changes(tmp_path: Path) -> None:
    admin = admin_key(tmp_path)
    with Registry(tmp_path, *CLOSED, "--limits-writes-per-minute", "20") as registry:
        added = {"name": "acme/ann", "password": "a good password", "role": "manager"}
        assert registry.api("POST", "/auth/users", json=added, headers={"x-api-key": admin}).status_code == 201
        answers = [get_token(registry, username="acme/ann", password="a good password") for _ in range(41)]
        refused = [answer for answer in answers if answer.status_code == 429]
        assert len(refused) in range(1, 22)
        assert all(int(answer.headers["Retry-After"]) > 0 for answer in refused)
        assert get_token(registry, {"x-api-key": admin}).status_code == 200


def test_names_of_tokens_give_no_further_votes(tmp_path: Path) -> None:
    admin = admin_key(tmp_path)
    with Registry(tmp_path, *CLOSED) as registry:
        ann = key_of(registry, admin, scope="acme", role="manager")
        assert registry.api("POST", "/skills", json=new_skill("hello"), headers=ann).status_code == 201
        bob = key_of(registry, admin, scope="corp", role="user")
        for number in range(6):
            token = named(registry, bob, f"corp/{number}")
            found = registry.api("POST", "/search", json={"query": f"hello {number}"}, headers=token).json()["data"]
            vote = {"search_id": found["search_id"], "skill_id": "hello", "outcome": "chosen"}
            answer = registry.api("POST", "/search/feedback", json=vote, headers=token)
            assert answer.json()["data"]["learned"], answer.text
        stored = registry.api("GET", "/search/feedback?skill_id=hello", headers=ann).json()["data"]
        assert [choice["query"] for choice in stored] == ["hello 5", "hello 4", "hello 3"]


def test_names_of_tokens_give_no_further_room_for_uploads(tmp_path: Path) -> None:
    admin = admin_key(tmp_path)
    with Registry(tmp_path, *CLOSED, "--limits-upload-bytes", str(1 << 20)) as registry:
        ann = key_of(registry, admin, scope="acme", role="manager")
        statuses = []
        for number in range(3):
            token = named(registry, ann, f"acme/{number}", "manager")["Authorization"].partition(" ")[2]
            hub, data = ClawHub(registry, token, "acme"), bytes([number]) * 800_000
            statuses.append(hub.send(hub.ticket("a.bin", data).json()["uploadUrl"], data).status_code)
        assert statuses == [200, 200, 409]
