"""The secret that signs tokens: never weak, readable only by its owner, the same for all processes."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from registry.auth.access import signing_keys
from registry.auth.secret import SECRET_FILE, WeakSecret, check_secret, load_or_create_secret
from registry.config.settings import load_settings

STRONG = "0f1e2d3c4b5a69788796a5b4c3d2e1f1"


@pytest.mark.parametrize(
    "secret",
    [
        "",
        "short",
        STRONG[:31],
        "a" * 64,
        "abababab" * 8,
        "change-me-0f1e2d3c4b5a69788796a5b4c3d2e1f0",
        "my-secret-key-for-jwt-tokens-0123456789",
        "an-Example-value-0123456789abcdefghijkl",
        "your-256-bit-key-0123456789abcdefghijkl",
    ],
)
def test_a_weak_secret_is_refused_and_never_shown(secret: str) -> None:
    with pytest.raises(WeakSecret) as refusal:
        check_secret(secret, "auth.secret")
    assert "auth.secret" in str(refusal.value)
    assert not secret or secret not in str(refusal.value).removeprefix("auth.secret")


def test_a_secret_may_be_any_bytes() -> None:
    secret = os.fsdecode(b"\xff\x80" + STRONG.encode())
    assert check_secret(secret, "auth.secret") == b"\xff\x80" + STRONG.encode()


@pytest.mark.parametrize("start", ["-----BEGIN PUBLIC KEY-----\n", "-----BEGIN CERTIFICATE-----\n", "ssh-ed25519 AAAA"])
def test_a_public_key_or_certificate_is_refused(start: str) -> None:
    with pytest.raises(WeakSecret, match="public key"):
        check_secret(start + STRONG + start.replace("BEGIN", "END"), "auth.secret")


def test_thirty_two_bytes_are_enough() -> None:
    assert check_secret(STRONG, "auth.secret") == STRONG.encode()


def test_a_secret_is_generated_once_and_readable_by_its_owner_only(tmp_path: Path) -> None:
    secret = load_or_create_secret(tmp_path / "data")
    file = tmp_path / "data" / SECRET_FILE
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert (load_or_create_secret(tmp_path / "data"), len(secret)) == (secret, 64)
    assert [path.name for path in file.parent.iterdir()] == [SECRET_FILE]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660])
def test_a_secret_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    load_or_create_secret(tmp_path)
    (tmp_path / SECRET_FILE).chmod(mode)
    with pytest.raises(WeakSecret, match="chmod 600"):
        load_or_create_secret(tmp_path)


@pytest.mark.parametrize("content", [b"", b"short", b"\xff" * 64, b"x" * 64])
def test_a_weak_secret_file_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / SECRET_FILE
    file.write_bytes(content)
    file.chmod(0o600)
    with pytest.raises(WeakSecret):
        load_or_create_secret(tmp_path)


def test_processes_that_generate_the_secret_concurrently_agree(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from registry.auth.secret import load_or_create_secret;"
        "sys.stdin.read();"
        "print(load_or_create_secret(Path(sys.argv[1])).decode())"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen(command, **pipes) for _ in range(4)]  # type: ignore[call-overload]
    for process in processes:
        process.stdin.close()
    output = {process.stdout.read() for process in processes}
    assert [process.wait() for process in processes] == [0] * 4
    for process in processes:
        process.stdout.close()
    assert output == {(tmp_path / SECRET_FILE).read_text() + "\n"}


def test_the_signing_keys_are_the_current_and_the_previous_secret(tmp_path: Path) -> None:
    flags = {"data_dir": str(tmp_path), "auth.secret": STRONG, "auth.previous_secret": STRONG[::-1]}
    assert signing_keys(load_settings(flags, {})) == [STRONG.encode(), STRONG[::-1].encode()]
    with pytest.raises(WeakSecret, match="previous_secret"):
        signing_keys(load_settings(flags | {"auth.previous_secret": "short"}, {}))
    assert not (tmp_path / SECRET_FILE).exists()
