"""The proof that a registry has published a release: its log entry, and that the signed log includes the entry."""

import base64
import binascii
from collections.abc import Iterable

import msgspec

from registry.domain.release_proofs import LoggedRelease, PublisherRun, ReleaseProof
from registry.transparency.checkpoint import CheckpointInvalid, LogCheckpoint, Verifier
from registry.transparency.log import LogEntry
from registry.transparency.merkle import Hash, is_included, leaf_hash


class ProofInvalid(Exception):
    """A proof does not hold; the message is one line that says why."""


def check_release(proof: ReleaseProof, verifier: Verifier, release: LoggedRelease) -> LogCheckpoint:
    """Return the state of the log that includes the release. Raises ProofInvalid."""
    state = _included(proof, verifier)
    if _logged(proof.entry) != release:
        raise ProofInvalid("its entry in the log names other files or another version")
    return state


def published_at(proof: ReleaseProof, verifier: Verifier, skill_id: str, version: str, sha256: str) -> str:
    """Return the time of the entry that publishes a package, which the signed log includes. Raises ProofInvalid."""
    _included(proof, verifier)
    logged = _logged(proof.entry)
    if logged is None or logged[:3] != (skill_id, version, sha256):
        raise ProofInvalid("its entry in the log names another package or another version")
    return msgspec.json.decode(proof.entry, type=LogEntry).at


def publisher_of(proof: ReleaseProof) -> PublisherRun | None:
    """Return the run of the workflow that has published a release, as the entry of a proof says; None without one.

    It is as true as the proof: check that first.
    """
    try:
        return msgspec.json.decode(proof.entry, type=LogEntry).publisher
    except msgspec.DecodeError:
        return None


def _included(proof: ReleaseProof, verifier: Verifier) -> LogCheckpoint:
    """Return the state of the log that includes the entry of a proof. Raises ProofInvalid."""
    try:
        state = verifier.read(proof.checkpoint)
    except CheckpointInvalid as error:
        raise ProofInvalid(str(error)) from None
    if state.origin != verifier.name:
        raise ProofInvalid(f"the checkpoint is of another log, {state.origin[:100]}")
    leaf = leaf_hash(proof.entry.encode("utf-8", "replace"))
    if not is_included(leaf, proof.number, state.size, decode_hashes(proof.proof), state.root):
        raise ProofInvalid("its entry is not in the signed log")
    return state


def _logged(text: str) -> LoggedRelease | None:
    """Return what an entry says about a release, None if it is of another kind."""
    try:
        entry = msgspec.json.decode(text, type=LogEntry)
    except msgspec.DecodeError:
        return None
    if entry.kind != "publish":
        return None
    return LoggedRelease(str(entry.skill_id), str(entry.version), str(entry.sha256), str(entry.digest))


def encode_hashes(hashes: Iterable[Hash]) -> list[str]:
    """Return the hashes of a proof in base64."""
    return [base64.b64encode(step).decode() for step in hashes]


def decode_hashes(proof: Iterable[str]) -> list[Hash]:
    """Return the hashes of a proof in base64. A malformed one gives hashes that prove nothing."""
    try:
        return [base64.b64decode(step, validate=True) for step in proof]
    except (binascii.Error, ValueError):
        return [b""]


def describe(state: LogCheckpoint) -> str:
    """Return the size and the root of a state, for messages."""
    return f"{state.size} entries with root {base64.b64encode(state.root).decode()}"
