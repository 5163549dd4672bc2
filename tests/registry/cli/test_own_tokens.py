"""`skill-registry tokens` and `password`: what users change of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.commands import Done, add_user
from support.publishing import Registry


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with Registry(tmp_path_factory.mktemp("registry")) as running:
        add_user(running.data_dir)
        yield running


def test_a_user_makes_uses_and_revokes_a_token(registry: Registry, tmp_path: Path) -> None:
    login = ("login", "--server", registry.url, "--username", "acme/ann", "--password-stdin")
    assert Done(tmp_path, *login, stdin="correct horse\n").code == 0
    assert "You have no tokens" in Done(tmp_path, "tokens", "list").out
    made = Done(tmp_path, "tokens", "create", "ci", "--for", "publish", "--skill", "acme/pdf-*", "--json").json
    assert (made["operations"], made["skills"]) == (["publish"], ["acme/pdf-*"])
    (listed,) = Done(tmp_path, "tokens", "list", "--json").json["tokens"]
    assert listed["id"] == made["id"]
    assert made["token"] not in Done(tmp_path, "tokens", "list").out

    elsewhere = tmp_path / "elsewhere"
    for name in ("pdf-one", "csv-one"):
        skill = elsewhere / name
        skill.mkdir(parents=True)
        text = f"---\nname: {name}\ndescription: Reads documents with care.\nversion: 1.0.0\n---\n# Body\n"
        (skill / "SKILL.md").write_text(text)
    env = {"SKILL_REGISTRY_CLIENT_API_KEY": made["token"]}
    published = Done(elsewhere, "publish", "pdf-one", "--server", registry.url, **env)
    assert published.code == 0, published.error
    Done(elsewhere, "publish", "csv-one", "--server", registry.url, **env).complains(1, "acme/pdf-* only")

    assert "revoked" in Done(tmp_path, "tokens", "revoke", made["id"]).out
    Done(elsewhere, "publish", "pdf-one", "--server", registry.url, **env).complains(1, "not valid")
    Done(tmp_path, "tokens", "revoke", made["id"], "--server", registry.url).complains(1, "not found")
    wrong = ("create", "ci", "--for", "publish", "--skill", "corp/x", "--server", registry.url)
    Done(tmp_path, "tokens", *wrong).complains(1, "outside your scope")


def test_a_token_that_has_leaked_is_revoked_by_its_text(registry: Registry, tmp_path: Path) -> None:
    login = ("login", "--server", registry.url, "--username", "acme/ann", "--password-stdin")
    assert Done(tmp_path, *login, stdin="correct horse\n").code == 0
    made = Done(tmp_path, "tokens", "create", "leaky", "--for", "read", "--json").json
    revoke = ("tokens", "revoke", f" Bearer {made['token']}\n", "--server", registry.url)
    assert "has ended" in Done(tmp_path, *revoke, XDG_CONFIG_HOME=str(tmp_path / "another")).out
    assert Done(tmp_path, "tokens", "list", "--json").json["tokens"] == []
    again = Done(tmp_path, *revoke)
    assert (again.code, made["token"] in again.error) == (1, False)
    key = Done(tmp_path, "admin", "keys", "create", "--data-dir", str(registry.data_dir), "--json").json["key"]
    Done(tmp_path, "tokens", "revoke", key, "--server", registry.url).complains(1, "administrator revokes API keys")
    revoked = Done(tmp_path, "admin", "keys", "revoke", key, "--data-dir", str(registry.data_dir), "--json")
    assert revoked.json["id"] == key.split("_")[1]
    registry.wait_for(lambda: registry.api("GET", "/skills", headers={"x-api-key": key}).status_code == 401)
    for text in (f"token={made['token']}", f"{key}.", "x/y"):
        for command in (("tokens", "revoke", text, "--server", registry.url), ("admin", "keys", "revoke", text)):
            refused = Done(tmp_path, *command)
            refused.complains(2, "neither the id nor the text")
            assert text not in refused.error


def test_a_user_changes_the_password(registry: Registry, tmp_path: Path) -> None:
    login = ("login", "--server", registry.url, "--username", "acme/ann", "--password-stdin")
    assert Done(tmp_path, *login, stdin="correct horse\n").code == 0
    Done(tmp_path, "password", "--server", registry.url, stdin="wrong horse\nbattery staple\n").complains(
        1, "old password is wrong"
    )
    assert Done(tmp_path, "password", stdin="correct horse\nbattery staple\n").code == 0
    assert Done(tmp_path, "tokens", "list").code == 0
    assert Done(tmp_path, *login, stdin="correct horse\n").code == 1
    assert Done(tmp_path, *login, stdin="battery staple\n").code == 0
