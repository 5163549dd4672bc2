"""Checkpoints: signed states of the log, as signed notes with an Ed25519 signature.

The text has three lines: the log's name, its size and its root in base64. The signature line has an em dash, the
signer's name, and in base64 the key's four-byte hash and the signature (C2SP signed-note and tlog-checkpoint, v1.0.0).

A requested checkpoint has one more line of the log's own key: a cosignature, which signs the time too (C2SP
tlog-cosignature). Without it no client could tell a log in which nothing happens from an old copy of it.
"""

import base64
import binascii
import hashlib
import re
import struct
from pathlib import Path
from typing import NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from registry.runtime.private_files import load_or_create
from registry.transparency.merkle import Hash

KEY_FILE = "log.key"

_ED25519 = b"\x01"
COSIGNATURE_V1 = b"\x04"
_TIME = struct.Struct(">Q")
SIGNATURE_LINE = "\u2014 "
_NUMBER = re.compile(r"0|[1-9][0-9]{0,15}")
_NO_KEY = "this is not a verifier key: expected name+hash+base64"
_NAME = re.compile(r"[^\s+]{1,200}")


def file_stem(name: str) -> str:
    """Return the name of a log as the begin of a file name."""
    return name.replace("/", "_")


def checkpoint_file(name: str) -> str:
    """Return the name of the file for the last checkpoint of a log. It cannot clash with a scope, which has no dot."""
    return f"{file_stem(name)}.checkpoint"


class CheckpointInvalid(Exception):
    """The text is not a checkpoint, or another key signed it; the message says which."""


class KeyUnusable(Exception):
    """The private key of the log is malformed; the message says which setting or file to correct."""


class LogCheckpoint(NamedTuple):
    """A state of the log: its name, its number of entries, and its root hash."""

    origin: str
    size: int
    root: Hash

    @property
    def text(self) -> str:
        """The text to sign."""
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n"


def cosigned_message(seconds: int, checkpoint: LogCheckpoint) -> bytes:
    """Return what a cosignature of a checkpoint signs; `seconds` is a Unix time."""
    return f"cosignature/v1\ntime {seconds}\n{checkpoint.text}".encode()


class PublicKey:
    """A verifier key of signed notes, `name+hash+base64`. `kind` is the byte that names its type of signature.

    Raises CheckpointInvalid.
    """

    def __init__(self, text: str, kind: bytes) -> None:
        name, _, rest = text.partition("+")
        key_hash, _, encoded = rest.partition("+")
        try:
            key = base64.b64decode(encoded, validate=True)
            self._key = Ed25519PublicKey.from_public_bytes(key[1:])
        except (binascii.Error, ValueError):
            raise CheckpointInvalid(_NO_KEY) from None
        if key[:1] != kind or not _NAME.fullmatch(name) or key_hash != _key_hash(name, key).hex():
            raise CheckpointInvalid(_NO_KEY)
        self.name = name
        self.bytes = key[1:]
        self._hash = _key_hash(name, key)

    def verify(self, key_hash: bytes, signature: bytes, message: bytes) -> None:
        """Raise InvalidSignature unless this key has made the signature of a message."""
        if key_hash != self._hash:
            raise InvalidSignature
        self._key.verify(signature, message)


class CosignatureKey:
    """Verifies cosignatures with a verifier key, `name+hash+base64`. Raises CheckpointInvalid."""

    def __init__(self, text: str) -> None:
        self._key = PublicKey(text, COSIGNATURE_V1)
        self.name = self._key.name

    def find(self, lines: str, checkpoint: LogCheckpoint) -> str | None:
        """Return the first of these signature lines that is a valid cosignature of a checkpoint, None if none is."""
        return next((line for line in lines.split("\n") if self._time(line, checkpoint) is not None), None)

    def time(self, lines: str, checkpoint: LogCheckpoint) -> int | None:
        """Return the latest Unix time at which these signature lines say that a checkpoint was current."""
        times = (self._time(line, checkpoint) for line in lines.split("\n"))
        return max((seconds for seconds in times if seconds is not None), default=None)

    def _time(self, line: str, checkpoint: LogCheckpoint) -> int | None:
        prefix = f"{SIGNATURE_LINE}{self.name} "
        if not line.startswith(prefix):
            return None
        try:
            signature = base64.b64decode(line.removeprefix(prefix), validate=True)
            (seconds,) = _TIME.unpack_from(signature, 4)
            self._key.verify(signature[:4], signature[12:], cosigned_message(seconds, checkpoint))
        except (binascii.Error, struct.error, InvalidSignature, ValueError):
            return None
        return int(seconds)


class Verifier:
    """Verifies checkpoints with the verifier key of a log: `name+hash+base64`. Raises CheckpointInvalid.

    Attributes:
        text: The verifier key.
        name: The name of the log.
    """

    def __init__(self, text: str) -> None:
        self.text = text.strip()
        self._key = PublicKey(self.text, _ED25519)
        self.name = self._key.name

    def read(self, note: str) -> LogCheckpoint:
        """Return the content of a signed checkpoint. Raises CheckpointInvalid if this key did not sign it."""
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

    def time(self, note: str) -> int | None:
        """Return the Unix time that the log has signed for a checkpoint; None if it states none. Raises as `read`."""
        _, _, signatures = note.partition("\n\n")
        return CosignatureKey(_verifier_key(self.name, COSIGNATURE_V1 + self._key.bytes)).time(
            signatures, self.read(note)
        )

    def _is_signature(self, line: str, text: bytes) -> bool:
        prefix = f"{SIGNATURE_LINE}{self.name} "
        if not line.startswith(prefix):
            return False
        try:
            signature = base64.b64decode(line.removeprefix(prefix), validate=True)
            self._key.verify(signature[:4], signature[4:], text)
        except (binascii.Error, InvalidSignature, ValueError):
            return False
        return True


class Signer:
    """Signs checkpoints with the configured key, or with one generated once into the data directory.

    Raises PrivateFileExposed if other users can read the key file, KeyUnusable if the key is malformed, OSError.
    """

    def __init__(self, data_dir: Path, name: str, key: str | None = None) -> None:
        text = key or load_or_create(
            data_dir / KEY_FILE, lambda: Ed25519PrivateKey.generate().private_bytes_raw().hex()
        )
        try:
            self._key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(text))
        except ValueError:
            origin = "transparency.key" if key else f"{KEY_FILE} in the data directory"
            raise KeyUnusable(
                f"{origin} is not a key: it must be 64 hexadecimal digits, as from `openssl rand -hex 32`"
            ) from None
        self._public = _ED25519 + self._key.public_key().public_bytes_raw()
        self._hash = _key_hash(name, self._public)
        self.name = name

    @property
    def verifier_key(self) -> str:
        """The public key, as `name+hash+base64`."""
        return _verifier_key(self.name, self._public)

    def sign(self, size: int, root: Hash) -> str:
        """Return the signed checkpoint of a state of the log."""
        text = LogCheckpoint(self.name, size, root).text
        signature = base64.b64encode(self._hash + self._key.sign(text.encode())).decode()
        return f"{text}\n{SIGNATURE_LINE}{self.name} {signature}\n"

    def time_line(self, size: int, root: Hash, seconds: int) -> str:
        """Return the signature line that says at which Unix time a state of the log was the current one."""
        message = cosigned_message(seconds, LogCheckpoint(self.name, size, root))
        key_hash = _key_hash(self.name, COSIGNATURE_V1 + self._public[1:])
        signature = base64.b64encode(key_hash + _TIME.pack(seconds) + self._key.sign(message)).decode()
        return f"{SIGNATURE_LINE}{self.name} {signature}\n"


def _verifier_key(name: str, public: bytes) -> str:
    return f"{name}+{_key_hash(name, public).hex()}+{base64.b64encode(public).decode()}"


def _key_hash(name: str, public: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\n" + public).digest()[:4]
