"""The secret that signs tokens: configured, or generated once into a file that only its owner can read."""

import os
import secrets
from pathlib import Path

import jwt

from registry.domain.counts import counted
from registry.runtime.private_files import PrivateFileExposed, load_or_create

SECRET_FILE = "auth.secret"  # noqa: S105 - a file name
MIN_BYTES = 32
"""An HS256 key is at least as long as the hash (RFC 7518, section 3.2)."""

_MIN_DISTINCT_BYTES = 8  # any random secret of 32 bytes has more
_PLACEHOLDERS = ("change", "example", "secret", "password", "replace", "your-")


class WeakSecret(Exception):
    """A secret that is too weak to sign tokens; the message says why, without showing it."""


def check_secret(secret: str, name: str) -> bytes:
    """Return a secret as bytes. Raises WeakSecret if it is short, a placeholder or a public key."""
    text = os.fsencode(secret)  # the environment may hold any bytes
    if len(text) < MIN_BYTES:
        raise WeakSecret(
            f"{name} has {counted(len(text), 'byte')} and needs at least {MIN_BYTES}: generate one with `openssl rand "
            "-hex 32`"
        )
    if len(set(text)) < _MIN_DISTINCT_BYTES or any(word in secret.lower() for word in _PLACEHOLDERS):
        raise WeakSecret(f"{name} looks like a placeholder: generate one with `openssl rand -hex 32`")
    try:
        jwt.get_algorithm_by_name("HS256").prepare_key(text)
    except jwt.InvalidKeyError:
        raise WeakSecret(
            f"{name} is a public key or certificate, not a secret: generate one with `openssl rand -hex 32`"
        ) from None
    return text


def load_or_create_secret(data_dir: Path) -> bytes:
    """Return the secret in the data directory, and generate one if there is none.

    Raises WeakSecret if other users can read it or if it is too weak; OSError.
    """
    try:
        text = load_or_create(data_dir / SECRET_FILE, lambda: secrets.token_hex(MIN_BYTES))
    except PrivateFileExposed as error:
        raise WeakSecret(str(error)) from None
    return check_secret(text, SECRET_FILE)
