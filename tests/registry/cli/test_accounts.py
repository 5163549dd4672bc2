"""The commands that look after who gets into a registry, with and without a server running."""

import json
from pathlib import Path

import httpx
import pytest

from support.commands import Done
from support.servers import RunningServer, new_skill

REGISTRY = ("--profile", "registry", "--auth-issuer", "closed")


def key_of(folder: Path, *args: str) -> str:
    made = Done(folder, "keys", "create", "--data-dir", "data", "--json", *args)
    assert made.code == 0, made.error
    return str(made.json["key"])


def test_the_first_key_is_made_before_the_first_start_and_opens_everything(tmp_path: Path) -> None:
    key = key_of(tmp_path, "--role", "admin")
    with RunningServer(tmp_path, *REGISTRY) as server:
        assert server.api("GET", "/skills").status_code == 401
        assert server.api("GET", "/auth/keys", headers={"x-api-key": key}).status_code == 200


def test_a_key_made_while_the_server_runs_counts_at_once_and_until_it_is_revoked(tmp_path: Path) -> None:
    with RunningServer(tmp_path, *REGISTRY) as server:
        key = key_of(tmp_path, "--role", "manager", "--scope", "acme")
        headers = {"x-api-key": key}
        assert server.api("POST", "/skills", json=new_skill("pdf-forms"), headers=headers).status_code == 201
        key_id = key.split("_")[1]
        assert Done(tmp_path, "keys", "revoke", key_id, "--data-dir", "data").code == 0
        server.wait_for(lambda: server.api("GET", "/skills", headers=headers).status_code == 401)


@pytest.mark.parametrize(
    "command", ["keys list", "users list", "users remove ann", "jobs list", "log new-identity", "token"]
)
def test_a_data_directory_that_is_not_there_is_not_made(tmp_path: Path, command: str) -> None:
    Done(tmp_path, *command.split(), "--data-dir", "typo").complains(
        1, "there is no catalog in", "typo: set --data-dir"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_command_that_begins_a_catalog_says_where(tmp_path: Path) -> None:
    first, second = (Done(tmp_path, "keys", "create", "--data-dir", "data") for _ in range(2))
    assert first.error == f"skill-registry: this is a new catalog, in {tmp_path / 'data'}\n"
    assert (first.code, second.code, second.error) == (0, 0, "")


def test_keys_are_listed_without_their_secrets(tmp_path: Path) -> None:
    key = key_of(tmp_path, "--name", "ci")
    listed = Done(tmp_path, "keys", "list", "--data-dir", "data")
    assert "ci" in listed.out
    assert key.split("_", 2)[2] not in listed.out


def test_without_a_terminal_a_password_is_not_asked_for(tmp_path: Path) -> None:
    for command in (("add", "acme/bob"), ("change", "acme/bob", "--password")):
        Done(tmp_path, "users", *command, "--data-dir", "data").complains(1, "give --password-stdin")


def test_a_user_signs_in_until_the_password_changes(tmp_path: Path) -> None:
    added = Done(
        tmp_path, "users", "add", "acme/bob", "--password-stdin", "--data-dir", "data", stdin="battery staple\n"
    )
    assert added.code == 0, added.error
    with RunningServer(tmp_path, *REGISTRY) as server:
        body = {"username": "acme/bob", "password": "battery staple"}
        token = server.http.post("/auth/token", json=body).json()["data"]["token"]
        headers = {"Authorization": f"Bearer {token}"}
        assert server.api("GET", "/skills", headers=headers).status_code == 200
        changed = Done(
            tmp_path, "users", "change", "acme/bob", "--password-stdin", "--data-dir", "data", stdin="horse correct\n"
        )
        assert changed.code == 0, changed.error
        server.wait_for(lambda: server.api("GET", "/skills", headers=headers).status_code == 401)
        assert server.http.post("/auth/token", json=body).status_code == 401


def test_a_removed_user_is_gone(tmp_path: Path) -> None:
    Done(tmp_path, "users", "add", "bob", "--password-stdin", "--data-dir", "data", stdin="battery staple\n")
    assert "bob" in Done(tmp_path, "users", "list", "--data-dir", "data").out
    assert Done(tmp_path, "users", "remove", "bob", "--data-dir", "data").code == 0
    Done(tmp_path, "users", "remove", "bob", "--data-dir", "data").complains(1, "bob", "not found")


def test_a_token_signed_on_the_command_line_is_one_of_the_server(tmp_path: Path) -> None:
    with RunningServer(tmp_path, *REGISTRY) as server:
        signed = Done(tmp_path, "token", "--user", "acme/eve", "--role", "manager", "--data-dir", "data").out.strip()
        answer = server.http.get("/auth/verify", headers={"Authorization": f"Bearer {signed}"}).json()["data"]
        assert (answer["user"], answer["role"], answer["scope"]) == ("acme/eve", "manager", "acme")


@pytest.mark.parametrize(
    "args", [("keys", "create", "--scope", "A/b"), ("users", "add", "a//b"), ("token", "--user", "")]
)
def test_what_breaks_a_rule_is_said_in_one_line(tmp_path: Path, args: tuple[str, ...]) -> None:
    key_of(tmp_path)
    password = ("--password-stdin",) if args[0] == "users" else ()
    done = Done(tmp_path, *args, *password, "--data-dir", "data", stdin="battery staple\n")
    done.complains(1, "must be")


def test_commands_speak_to_a_registry_with_an_api_key(tmp_path: Path) -> None:
    key = key_of(tmp_path)
    with RunningServer(tmp_path, *REGISTRY) as server:
        search = ("search", "pdf", "--server", server.url, "--json")
        Done(tmp_path, *search).complains(1, "Authentication is required")
        assert Done(tmp_path, *search, SKILL_REGISTRY_CLIENT_API_KEY=key).json["skills"] == []


def test_nothing_of_a_key_or_a_password_is_kept_where_it_can_be_read(tmp_path: Path) -> None:
    key = key_of(tmp_path)
    Done(tmp_path, "users", "add", "bob", "--password-stdin", "--data-dir", "data", stdin="battery staple\n")
    kept = b"".join(path.read_bytes() for path in (tmp_path / "data").iterdir())
    assert key.split("_", 2)[2].encode() not in kept
    assert b"battery staple" not in kept
    assert {path.stat().st_mode & 0o077 for path in (tmp_path / "data").iterdir()} == {0}


def test_what_the_admin_routes_answer_is_what_the_commands_print(tmp_path: Path) -> None:
    key = key_of(tmp_path, "--role", "admin")
    with RunningServer(tmp_path, *REGISTRY) as server:
        listed: httpx.Response = server.api("GET", "/auth/keys", headers={"x-api-key": key})
        printed = json.loads(Done(tmp_path, "keys", "list", "--data-dir", "data", "--json").out)["keys"]
        without_use = [{name: value for name, value in one.items() if name != "last_used_at"} for one in printed]
        assert [{k: v for k, v in one.items() if k != "last_used_at"} for one in listed.json()["data"]] == without_use


def test_the_audit_log_names_what_commands_have_changed(tmp_path: Path) -> None:
    data = ("--data-dir", "data")
    key = key_of(tmp_path, "--role", "admin", "--name", "ops")
    key_id = key.split("_")[1]
    password = {"stdin": "battery staple\n"}
    Done(tmp_path, "admin", "users", "add", "acme/bob", "--role", "manager", "--password-stdin", *data, **password)
    Done(tmp_path, "admin", "users", "add", "acme/bob", "--password-stdin", *data, **password).complains(1, "exists")
    Done(tmp_path, "admin", "users", "change", "acme/bob", "--role", "admin", *data)
    Done(tmp_path, "admin", "users", "change", "acme/bob", "--password-stdin", *data, **password)
    Done(tmp_path, "admin", "users", "list", *data)
    Done(tmp_path, "admin", "scopes", "add", "acme", "--owner", "acme/bob", *data)
    Done(tmp_path, "admin", "scopes", "set", "acme", "zoe", "--role", "publisher", *data)
    Done(tmp_path, "admin", "publishers", "only", "umbrella", *data)
    Done(tmp_path, "admin", "users", "remove", "acme/bob", *data)
    Done(tmp_path, "admin", "token", "--user", "eve", "--role", "admin", *data)
    Done(tmp_path, "admin", "token", "--user", "eve", *data)
    with RunningServer(tmp_path, *REGISTRY) as server:
        entries = server.api("GET", "/audit?limit=100", headers={"x-api-key": key}).json()["data"]
    assert {(entry["actor"], entry["role"]) for entry in entries} == {("(operator)", "admin")}
    *changes, issued = [(entry["action"], entry["target"], entry["detail"]) for entry in reversed(entries)]
    assert changes == [
        ("admin keys create", "ops", f"key-{key_id}: admin"),
        ("admin users add", "acme/bob", "acme/bob, manager of acme"),
        ("admin users change", "acme/bob", "acme/bob, admin of acme"),
        ("admin users change", "acme/bob", "acme/bob, admin of acme, new password"),
        ("admin scopes add", "acme", "acme: owner acme/bob"),
        ("admin scopes set", "acme", "acme: publisher zoe"),
        ("admin publishers only", "umbrella", "umbrella: trusted publishers only"),
        ("admin users remove", "acme/bob", "acme/bob"),
    ]
    assert issued[0] == "issue token"
    assert issued[2].startswith("admin token ")
    assert issued[2].endswith(" for eve")
