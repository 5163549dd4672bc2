"""The secret that signs tokens: configured, or made once and kept in a file only its owner can read."""

import os
import secrets
from pathlib import Path

import jwt

from registry.runtime.private_files import PrivateFileExposed, kept

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
    try:
        text = kept(data_dir / SECRET_FILE, lambda: secrets.token_hex(SHORTEST))
    except PrivateFileExposed as error:
        raise WeakSecret(str(error)) from None
    return check_secret(text, SECRET_FILE)
