"""The token of a login in the system's keyring: the real command, and a keyring as the library `keyring` loads it."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.commands import Done, add_user
from support.publishing import Registry

NONE = {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
FILE = {"SKILL_REGISTRY_CLIENT_LOGIN_STORE": "file"}
ONLY_KEYRING = {"SKILL_REGISTRY_CLIENT_LOGIN_STORE": "keyring"}
MOODS = {
    "locked": ({"KEYRING_MOOD": "locked"}, "KeyringLocked"),
    "silent": ({"KEYRING_MOOD": "silent", "SKILL_REGISTRY_CLIENT_KEYRING_SECONDS": "0.5"}, "not answered within 0.5"),
    "broken": ({"PYTHON_KEYRING_BACKEND": "support.file_keyring.Nothing"}, "AttributeError"),
}


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with Registry(tmp_path_factory.mktemp("registry"), "--auth-issuer", "closed") as running:
        add_user(running.data_dir)
        yield running


class Person:
    """A user with a keyring."""

    def __init__(self, folder: Path, registry: Registry) -> None:
        self.folder = folder
        self.url = registry.url
        self.file = folder / "config" / "skill-registry" / "logins.json"
        self.keyring = folder / "keyring.json"

    def run(self, *args: str, stdin: str = "", **env: str) -> Done:
        keyring = {
            "PYTHON_KEYRING_BACKEND": "support.file_keyring.Keyring",
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "KEYRING_FILE": str(self.keyring),
        }
        return Done(self.folder, *args, "--server", self.url, stdin=stdin, **(keyring | env))

    def sign_in(self, **env: str) -> Done:
        flags = ("--username", "acme/ann", "--password-stdin", "--json")
        return self.run("login", *flags, stdin="correct horse\n", **env)

    def search(self, **env: str) -> Done:
        return self.run("search", "anything at all", **env)

    def entry(self) -> dict[str, Any]:
        """Return what the file has of the login."""
        return dict(json.loads(self.file.read_bytes())[self.url])

    def secrets(self) -> list[str]:
        """Return the tokens in the keyring."""
        return list(json.loads(self.keyring.read_text()).values()) if self.keyring.exists() else []


@pytest.fixture
def ann(registry: Registry, tmp_path: Path) -> Person:
    return Person(tmp_path, registry)


def works(done: Done) -> bool:
    return done.code in {0, 3}


def is_valid(registry: Registry, token: str) -> bool:
    return registry.get("/api/skills", {"Authorization": f"Bearer {token}"}).status_code == 200


def test_the_keyring_has_the_token_and_the_file_has_not(registry: Registry, ann: Person) -> None:
    done = ann.sign_in()
    (token,) = ann.secrets()
    assert (done.json["token_in"], set(ann.entry())) == ("the keyring of this system", {"expires_at"})
    assert is_valid(registry, token)
    assert works(ann.search())
    assert token not in done.out + done.error + ann.file.read_text()
    assert ann.run("logout").code == 0
    assert (ann.secrets(), json.loads(ann.file.read_bytes()), is_valid(registry, token)) == ([], {}, False)


@pytest.mark.parametrize("env", [NONE, FILE, {"PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"}])
def test_without_a_keyring_the_file_has_the_token(ann: Person, env: dict[str, str]) -> None:
    done = ann.sign_in(**env)
    assert (done.json["token_in"], done.error, ann.secrets()) == (str(ann.file), "", [])
    assert (ann.file.stat().st_mode & 0o777, "token" in ann.entry()) == (0o600, True)
    assert works(ann.search(**env))


def test_a_token_of_the_file_works_and_moves_with_the_next_login(ann: Person) -> None:
    ann.sign_in(**FILE)
    assert works(ann.search())
    ann.sign_in()
    assert (len(ann.secrets()), set(ann.entry())) == (1, {"expires_at"})
    ann.sign_in(**FILE)  # and back: nothing is left in the keyring
    assert (ann.secrets(), "token" in ann.entry()) == ([], True)
    assert ann.run("logout").code == 0


@pytest.mark.parametrize("mood", [*MOODS, "forgetful"])
def test_a_keyring_that_fails_leaves_the_token_to_the_file(ann: Person, mood: str) -> None:
    env, words = MOODS.get(mood, ({"KEYRING_MOOD": mood}, "does not return"))
    started = time.monotonic()
    done = ann.sign_in(**env)
    assert time.monotonic() - started < 30
    assert (done.code, done.json["token_in"], done.error.count("\n")) == (0, str(ann.file), 1)
    assert words in done.error
    assert ann.entry()["token"] not in done.out + done.error
    assert works(ann.search(**env))  # which does not ask the keyring
    assert ann.run("logout", **env).code == 0


@pytest.mark.parametrize("mood", MOODS)
def test_a_token_that_cannot_be_read_is_said_in_one_line(ann: Person, mood: str) -> None:
    env, words = MOODS[mood]
    ann.sign_in()
    (token,) = ann.secrets()
    for command in (("search", "anything"), ("logout",)):
        done = ann.run(*command, **env)
        done.complains(1, words, "unlock the keyring", "SKILL_REGISTRY_CLIENT_LOGIN_STORE=file")
        assert token not in done.error
    assert works(ann.search())  # nothing is lost
    again = ann.sign_in(**env, **FILE)
    assert (again.code, works(ann.search(**env))) == (0, True)


def test_a_token_that_the_keyring_has_lost_or_changed_is_said(ann: Person) -> None:
    ann.sign_in()
    (name,) = json.loads(ann.keyring.read_text())
    ann.keyring.write_text(json.dumps({name: "a\r\nx-role: admin"}))
    ann.search().complains(1, "it has changed")
    ann.keyring.write_text("{}")
    ann.search().complains(1, "no longer has the token", f"login --server {ann.url}")
    gone = ann.run("logout", "--json")
    assert (gone.code, json.loads(ann.file.read_bytes())) == (0, {})
    assert "not revoked" in gone.json["message"]


def test_where_only_a_keyring_will_do_nothing_else_gets_the_token(ann: Person) -> None:
    for env, words in ((NONE, "none that can be used"), *MOODS.values()):
        ann.sign_in(**(ONLY_KEYRING | env)).complains(1, "login_store", words)
        assert not ann.file.exists()
    assert ann.sign_in(**ONLY_KEYRING).json["token_in"] == "the keyring of this system"


def test_without_the_extra_the_file_has_the_token(ann: Person) -> None:
    hidden = ann.folder / "hidden" / "keyring"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").write_text("raise ImportError\n")
    env = {"PYTHONPATH": f"{hidden.parent}{os.pathsep}{Path(__file__).parents[2]}"}
    done = ann.sign_in(**env)
    assert (done.json["token_in"], done.error) == (str(ann.file), "")
    ann.sign_in(**ONLY_KEYRING | env).complains(1, "pip install 'skill-registry[keyring]'")


def test_a_changed_password_keeps_its_token_in_the_keyring(registry: Registry, ann: Person) -> None:
    ann.sign_in()
    before = ann.secrets()
    assert ann.run("password", stdin="correct horse\nstaple battery\n").code == 0
    assert (len(ann.secrets()), ann.secrets() != before, "token" in ann.entry()) == (1, True, False)
    assert ann.run("password", stdin="staple battery\ncorrect horse\n").code == 0


def test_two_configurations_have_tokens_of_their_own(ann: Person) -> None:
    ann.sign_in()
    ann.sign_in(XDG_CONFIG_HOME=str(ann.folder / "other"))
    assert len(set(ann.secrets())) == 2
    assert ann.run("logout", XDG_CONFIG_HOME=str(ann.folder / "other")).code == 0
    assert works(ann.search())
