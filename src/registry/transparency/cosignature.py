"""Cosignatures: signed statements of witnesses that a checkpoint extends what they have seen (C2SP tlog-cosignature).

A cosignature is one more signature line of the checkpoint. The signed message is `cosignature/v1`, the time, and the
text of the checkpoint.
"""

import base64
import binascii
import struct

from cryptography.exceptions import InvalidSignature

from registry.transparency.checkpoint import SIGNATURE_LINE, LogCheckpoint, PublicKey

_COSIGNATURE_V1 = b"\x04"
_TIME = struct.Struct(">Q")


class WitnessKey:
    """Verifies the cosignatures of a witness with its verifier key, `name+hash+base64`. Raises CheckpointInvalid."""

    def __init__(self, text: str) -> None:
        self._key = PublicKey(text, _COSIGNATURE_V1)
        self.name = self._key.name

    def find(self, lines: str, checkpoint: LogCheckpoint) -> str | None:
        """Return the first of these signature lines that is a valid cosignature of a checkpoint, None if none is."""
        return next((line for line in lines.split("\n") if self._is_valid(line, checkpoint)), None)

    def _is_valid(self, line: str, checkpoint: LogCheckpoint) -> bool:
        prefix = f"{SIGNATURE_LINE}{self.name} "
        try:
            signature = base64.b64decode(line.removeprefix(prefix), validate=True)
            (seconds,) = _TIME.unpack_from(signature, 4)
            self._key.verify(
                signature[:4], signature[12:], f"cosignature/v1\ntime {seconds}\n{checkpoint.text}".encode()
            )
        except (binascii.Error, struct.error, InvalidSignature, ValueError):
            return False
        return line.startswith(prefix)
