"""`skill-registry admin scopes`, and the commands of an operator on a private scope."""

from pathlib import Path

import pytest

from registry.cli.credentials import configured_key
from registry.config.settings import load_settings
from support.commands import Done
from support.publishing import Registry, skill_package
from support.waiting import wait_until


def test_an_operator_makes_a_scope_private_names_members_and_backs_it_up(tmp_path: Path) -> None:
    with Registry(tmp_path) as registry:
        place = ("--data-dir", str(registry.data_dir))
        made = Done(tmp_path, "admin", "scopes", "add", "acme", "--owner", "una", *place, "--json")
        assert made.json["path"] == "/scopes/acme"
        assert Done(tmp_path, "admin", "scopes", "set", "acme", "pia", "--role", "publisher", *place).code == 0
        pia, files = registry.caller("pia", "user"), {"package": ("p.zip", skill_package("kept"), "application/zip")}
        registry.http.post("/scopes/acme/api/registry/publish", files=files, headers=pia).raise_for_status()
        path = "/scopes/acme/api/v1/skills/acme/kept"
        wait_until(lambda: registry.http.get(path, headers=pia).status_code == 200)
        members = Done(tmp_path, "admin", "scopes", "members", "acme", *place, "--json").json["members"]
        assert [(member["user"], member["role"]) for member in members] == [("pia", "publisher"), ("una", "owner")]
        assert Done(tmp_path, "admin", "scopes", "remove", "acme", "pia", *place).code == 0
        assert registry.http.get(path, headers=pia).status_code == 404
        of_scope = (*place, "--private-scope", "acme")
        repair = Done(tmp_path, "admin", "fsck", "--repair", *of_scope, "--embedding-provider", "none")
        assert (repair.code, "is running" in repair.error) == (2, True)
        whole = Done(tmp_path, "admin", "backup", str(tmp_path / "whole"), *place, "--json").json
        assert any("acme" in part for part in whole["not_in_it"])
        kept = Done(tmp_path, "admin", "backup", str(tmp_path / "kept"), *of_scope, "--json").json
        assert (kept["packages"], kept["not_in_it"]) == (1, [])
    assert Done(tmp_path, "admin", "fsck", *of_scope, "--embedding-provider", "none").code == 0
    assert Done(tmp_path, "admin", "scopes", "close", "acme", *place).code == 0
    assert Done(tmp_path, "admin", "scopes", "list", *place, "--json").json == {"scopes": []}
    unknown = Done(tmp_path, "admin", "fsck", *place, "--private-scope", "nothing")
    assert (unknown.code, "there is no private scope" in unknown.error) == (2, True)


def test_a_scope_whose_owner_is_removed_is_named_with_what_to_do(tmp_path: Path) -> None:
    place = ("--data-dir", str(tmp_path / "data"))
    for name in ("una", "pia"):
        assert Done(tmp_path, "users", "add", name, "--password-stdin", *place, stdin="correct horse\n").code == 0
    assert Done(tmp_path, "admin", "scopes", "add", "acme", "--owner", "una", *place).code == 0
    for args in (("add", "other", "--owner", "unna"), ("set", "acme", "piia"), ("set", "acme", "pia")):
        done = Done(tmp_path, "admin", "scopes", *args, *place)
        is_typo = args[-1] != "pia"
        assert (done.code, f"there is no user '{args[-1]}' yet" in done.error) == (0, is_typo), done.error
    assert Done(tmp_path, "users", "remove", "pia", *place).error == ""
    removed = Done(tmp_path, "users", "remove", "una", *place)
    assert (removed.code, "admin scopes set acme USER --role owner" in removed.error) == (0, True)


def test_a_login_at_the_service_counts_for_its_scopes(tmp_path: Path) -> None:
    (skill := tmp_path / "marmoset").mkdir()
    (skill / "SKILL.md").write_text("---\nname: marmoset\ndescription: Counts marmosets.\nversion: 1.0.0\n---\n# x\n")
    with Registry(tmp_path / "registry") as registry:
        body, admin = {"scope": "acme", "owner": "una"}, registry.caller("root", "admin")
        registry.http.post("/api/v1/private-scopes", json=body, headers=admin).raise_for_status()
        address = f"{registry.url}/scopes/acme"
        assert Done(tmp_path, "login", "--server", registry.url, "--username", "una").code == 0
        assert Done(tmp_path, "publish", str(skill), "--server", address).code == 0
        found = Done(tmp_path, "search", "count marmosets", "--server", address, "--json").json
        assert [hit["skill"]["id"] for hit in found["skills"]] == ["acme/marmoset"]
        installed = Done(tmp_path, "install", "acme/marmoset", "--from", address)
        assert (installed.code, "status 404" in installed.error) == (0, False), installed.error
        assert (tmp_path / "skills" / "marmoset" / "SKILL.md").exists()


def test_the_key_of_a_service_counts_for_its_scopes(tmp_path: Path) -> None:
    with Registry(tmp_path / "registry") as registry:
        admin = registry.caller("root", "admin")
        body = {"scope": "acme", "owner": "una"}
        registry.http.post("/api/v1/private-scopes", json=body, headers=admin).raise_for_status()
        made = registry.http.post("/api/v1/auth/keys", json={"name": "ci", "scope": "acme"}, headers=admin)
        key = {"SKILL_REGISTRY_CLIENT_API_KEY": made.json()["data"]["key"], "SKILL_REGISTRY_SERVER": registry.url}
        search = ("search", "anything", "--server", f"{registry.url}/scopes/acme")
        assert Done(tmp_path, *search, **key).code == 3  # nothing is found
        other = ("search", "anything", "--server", f"{registry.url}/scopes/corp")
        Done(tmp_path, *other, **key).complains(1, "no such private scope, or you are no member of it")
        elsewhere = {"SKILL_REGISTRY_SERVER": "https://other.example"}
        Done(tmp_path, *search, **(key | elsewhere)).complains(1, "login --server")


@pytest.mark.parametrize(
    ("owner", "server", "is_sent"),
    [
        ("https://a.example", "https://a.example/scopes/acme", True),
        ("https://a.example", "https://a.example/scopes/acme/mirrors/up", True),
        ("https://a.example/base", "https://a.example/base/scopes/acme", True),
        ("https://a.example", "https://b.example/scopes/acme", False),
        ("https://a.example", "https://a.example/other", False),
        ("https://a.example/scopes/acme", "https://a.example/scopes/acme", True),
        ("https://a.example/scopes/acme", "https://a.example/scopes/other", False),
        ("https://a.example/scopes/acme", "https://a.example", False),
    ],
)
def test_a_key_goes_to_what_belongs_to_its_server_alone(owner: str, server: str, is_sent: bool) -> None:
    environment = {"SKILL_REGISTRY_CLIENT_API_KEY": "sk_a_b", "SKILL_REGISTRY_SERVER": owner}
    key = configured_key(load_settings({}, environment), server)
    assert key == ("sk_a_b" if is_sent else None)
