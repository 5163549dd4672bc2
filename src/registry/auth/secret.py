"""The secret that signs tokens: configured, or made once and kept in a file only its owner can read."""

import contextlib
import os
import secrets
import stat
import tempfile
from pathlib import Path

import jwt

SECRET_FILE = "auth.secret"  # noqa: S105 - a file name
SHORTEST = 32
"""Bytes: an HS256 key is at least as long as the hash (RFC 7518, section 3.2)."""

_FEWEST_BYTES = 8  # different ones; any random secret of 32 bytes has more
_PLACEHOLDERS = ("change", "example", "secret", "password", "replace", "your-")


class WeakSecret(Exception):
    """A secret that must not sign anything; the message says why, without showing it."""


def check_secret(secret: str, name: str) -> bytes:
    """Return a configured secret as bytes. Raises WeakSecret where it is short, a placeholder or a public key."""
    text = os.fsencode(secret)  # the environment may hold any bytes
    if len(text) < SHORTEST:
        raise WeakSecret(f"{name} has {len(text)} bytes, and needs at least {SHORTEST}: try `openssl rand -hex 32`")
    if len(set(text)) < _FEWEST_BYTES or any(word in secret.lower() for word in _PLACEHOLDERS):
        raise WeakSecret(f"{name} looks like a placeholder: make one with `openssl rand -hex 32`")
    try:
        jwt.get_algorithm_by_name("HS256").prepare_key(text)
    except jwt.InvalidKeyError:
        raise WeakSecret(f"{name} is a public key or certificate, which is no secret") from None
    return text


def kept_secret(data_dir: Path) -> bytes:
    """Return the secret kept in the data directory, made there first where there is none.

    Raises WeakSecret where others can read it, or it is too short; OSError.
    """
    path = data_dir / SECRET_FILE
    if not path.exists():
        _make(path)
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise WeakSecret(f"others can read {SECRET_FILE} in the data directory: chmod 600 it, or delete it")
    return check_secret(path.read_text(encoding="ascii", errors="replace").strip(), SECRET_FILE)


def _make(path: Path) -> None:
    """Write a new secret; the first of several processes wins, and no one ever sees half of one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # A temporary file is its owner's alone (0600), and its name is nobody else's, also where process ids repeat.
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f"{path.name}.") as temporary:
        temporary.write(secrets.token_hex(SHORTEST).encode())
        temporary.flush()
        os.fsync(temporary.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(temporary.name, path)
