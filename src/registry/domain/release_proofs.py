"""What a client keeps of the proof that a registry has published a release.

`transparency.release_proof` checks it. These types are here because commands read them, and cryptography starts slowly.
"""

from typing import NamedTuple

import msgspec


class ReleaseProof(msgspec.Struct, kw_only=True, frozen=True):
    """The log entry of one release, and its inclusion in a signed state of the log.

    Args:
        checkpoint: The signed state of the log, as a signed note.
        number: The number of the entry, from 0 on.
        entry: The entry as the canonical text that is hashed.
        proof: The inclusion proof in base64 (RFC 9162, section 2.1.3).
    """

    checkpoint: str
    number: int
    entry: str
    proof: list[str]


class PinnedProof(ReleaseProof, kw_only=True, frozen=True):
    """A proof together with the key that it was verified with, as `name+hash+base64`."""

    key: str


class LoggedRelease(NamedTuple):
    """What the log must say about a release: `sha256` of the zip and `digest` of the tree, each with its prefix."""

    skill_id: str
    version: str
    sha256: str
    digest: str
