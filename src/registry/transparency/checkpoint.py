"""Signed states of the log: a signed note with an Ed25519 signature, as other transparency logs use.

The text is three lines, the log's name, its size and its root in base64; the signature line is an em dash, the signer's
name, and base64 of four bytes that tell its key and of the signature (C2SP signed-note and tlog-checkpoint, v1.0.0).
"""

import base64
import binascii
import hashlib
import re
from pathlib import Path
from typing import NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from registry.runtime.private_files import load_or_create
from registry.transparency.merkle import Hash

KEY_FILE = "log.key"

_ED25519 = b"\x01"
_SIGNATURE_LINE = "\u2014 "
_NUMBER = re.compile(r"0|[1-9][0-9]{0,15}")
_NAME = re.compile(r"[^\s+]{1,200}")


def checkpoint_file(name: str) -> str:
    """Return where the index keeps the last checkpoint of a log: beside the scopes, none of which has a dot."""
    return f"{name.replace('/', '_')}.checkpoint"


class CheckpointInvalid(Exception):
    """Not a checkpoint, or not one of this signer; the message says which."""


class KeyUnusable(Exception):
    """What should be the private key of the log is none."""


class LogCheckpoint(NamedTuple):
    """A state of the log: its name, how many entries it has, and their root."""

    origin: str
    size: int
    root: Hash

    @property
    def text(self) -> str:
        """The text that is signed."""
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n"


class Verifier:
    """Checks checkpoints with the public key, written `name+hash+base64` (a verifier key of signed notes)."""

    def __init__(self, text: str) -> None:
        name, _, rest = text.strip().partition("+")
        told, _, encoded = rest.partition("+")
        try:
            key = base64.b64decode(encoded, validate=True)
            self._key = Ed25519PublicKey.from_public_bytes(key[1:])
        except (binascii.Error, ValueError):
            raise CheckpointInvalid("this is not a verifier key") from None
        if key[:1] != _ED25519 or not _NAME.fullmatch(name) or told != _key_hash(name, key).hex():
            raise CheckpointInvalid("this is not a verifier key")
        self.name = name
        self._hash = _key_hash(name, key)

    def read(self, note: str) -> LogCheckpoint:
        """Return what a signed checkpoint says. Raises CheckpointInvalid where it is not signed with this key."""
        text, _, signatures = note.partition("\n\n")
        lines = f"{text}\n".split("\n")
        if len(lines) < 4 or not _NUMBER.fullmatch(lines[1]):
            raise CheckpointInvalid("this is not a checkpoint")
        if not any(self._is_signature(line, f"{text}\n".encode()) for line in signatures.split("\n")):
            raise CheckpointInvalid("the checkpoint is not signed with this key")
        try:
            root = base64.b64decode(lines[2], validate=True)
        except binascii.Error:
            raise CheckpointInvalid("this is not a checkpoint") from None
        return LogCheckpoint(lines[0], int(lines[1]), root)

    def _is_signature(self, line: str, text: bytes) -> bool:
        prefix = f"{_SIGNATURE_LINE}{self.name} "
        if not line.startswith(prefix):
            return False
        try:
            signed = base64.b64decode(line.removeprefix(prefix), validate=True)
            if signed[:4] != self._hash:
                return False
            self._key.verify(signed[4:], text)
        except (binascii.Error, InvalidSignature, ValueError):
            return False
        return True


class Signer:
    """Signs checkpoints with a key that is given, else one kept in the data directory and made there first.

    Raises PrivateFileExposed where others can read it, KeyUnusable where it is none, OSError.
    """

    def __init__(self, data_dir: Path, name: str, key: str | None = None) -> None:
        text = key or load_or_create(
            data_dir / KEY_FILE, lambda: Ed25519PrivateKey.generate().private_bytes_raw().hex()
        )
        try:
            self._key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(text))
        except ValueError:
            where = "transparency.key" if key else f"{KEY_FILE} in the data directory"
            raise KeyUnusable(f"{where} is no key: 64 hexadecimal digits are, as of `openssl rand -hex 32`") from None
        self._public = _ED25519 + self._key.public_key().public_bytes_raw()
        self._hash = _key_hash(name, self._public)
        self.name = name

    @property
    def verifier_key(self) -> str:
        """What readers check signatures with."""
        return f"{self.name}+{self._hash.hex()}+{base64.b64encode(self._public).decode()}"

    def sign(self, size: int, root: Hash) -> str:
        """Return the signed checkpoint of a state of the log."""
        text = LogCheckpoint(self.name, size, root).text
        signature = base64.b64encode(self._hash + self._key.sign(text.encode())).decode()
        return f"{text}\n{_SIGNATURE_LINE}{self.name} {signature}\n"


def _key_hash(name: str, public: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\n" + public).digest()[:4]
