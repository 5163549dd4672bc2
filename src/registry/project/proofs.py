"""`skills.proofs`: offline proofs that locked skills are in the transparency log of their registry.

The file lies beside `skills.lock`. It holds the latest signed checkpoint of the log, for each locked skill its entry
with an inclusion proof, and the earlier checkpoints, each with a consistency proof. Verifying it needs only the
registry's public key. Nothing in the file is trusted before that.
"""

import base64
import binascii
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from registry.project.lock_file import LockedSkill
from registry.runtime.atomic_files import only_writer, replace_file
from registry.transparency.checkpoint import CheckpointInvalid, LogCheckpoint, Verifier, checkpoint_file
from registry.transparency.log import LogEntry
from registry.transparency.merkle import (
    Hash,
    Tree,
    consistency_proof,
    inclusion_proof,
    is_consistent,
    is_included,
    leaf_hash,
    root,
)

PROOFS_FILE = "skills.proofs"

_MAX_EARLIER = 50


class ProofsError(Exception):
    """The proofs cannot be read or created; the message is one line that says why."""


class Proven(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One locked skill: its log entry as text, the entry's number, and the inclusion proof in base64."""

    id: str
    number: int
    entry: str
    proof: list[str]


class Earlier(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """An earlier checkpoint of the log, and its consistency proof in base64."""

    checkpoint: str
    proof: list[str]


class Proofs(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The whole file. `registry` is the URL of the registry, `checkpoint` a signed note."""

    version: int = 1
    registry: str
    checkpoint: str
    earlier: list[Earlier]
    skills: list[Proven]


class Locked(msgspec.Struct, kw_only=True, frozen=True):
    """What the log must say about a locked skill: its version and the digest of its files."""

    id: str
    version: str
    digest: str

    @classmethod
    def of(cls, skill: LockedSkill) -> "Locked":
        """Return what the log must say about an entry of the lock."""
        return cls(id=skill.id, version=skill.version, digest=f"sha256:{skill.sha256}")

    def matches(self, entry: LogEntry) -> bool:
        """Return whether the entry records that exactly these files were published as this version."""
        return entry.kind == "publish" and (entry.version, entry.digest) == (self.version, self.digest)


def read_proofs(path: Path) -> Proofs:
    """Return the content of the file. Raises ProofsError."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Proofs)
    except FileNotFoundError:
        raise ProofsError(f"there is no {path.name}: 'skill-registry lock --log URL' writes one") from None
    except (OSError, msgspec.DecodeError) as error:
        raise ProofsError(f"{path.name} cannot be read: {error}") from None


def write_proofs(path: Path, proofs: Proofs) -> None:
    """Write the file in one step. Raises OSError."""
    with only_writer(path):
        replace_file(path, msgspec.json.format(msgspec.json.encode(proofs), indent=1) + b"\n")


def make_proofs(
    registry: str, note: str, entries: Iterable[str], verifier: Verifier, locked: Sequence[Locked], notes: Iterable[str]
) -> Proofs:
    """Return the proofs for locked skills, computed from all entries of a log.

    Args:
        registry: The URL of the registry.
        note: The current checkpoint of its log, signed.
        entries: The canonical entries from the first on. Those beyond the checkpoint are ignored.
        verifier: Holds the public key.
        locked: The skills to prove. Skills without an entry in the log are left out of the result.
        notes: The signed checkpoints that were seen before.

    Raises ProofsError if the entries do not match the checkpoint or an earlier one; CheckpointInvalid.
    """
    state, tree = _state(verifier, note), Tree()
    published: dict[Locked, tuple[int, str]] = {}
    for number, text in zip(range(state.size), entries, strict=False):
        tree.append(leaf_hash(text.encode()))
        for skill in _matching(text, locked):
            published.setdefault(skill, (number, text))
    if tree.size < state.size or root(state.size, tree.subtree) != state.root:
        raise ProofsError(f"the entries of the log at {registry} do not match its signed checkpoint: do not trust it")
    return Proofs(
        registry=registry,
        checkpoint=note,
        earlier=[_earlier(old, _state(verifier, old), state, tree) for old in _latest(notes, note)],
        skills=[
            Proven(
                id=skill.id,
                number=number,
                entry=text,
                proof=_encoded(inclusion_proof(number, state.size, tree.subtree)),
            )
            for skill, (number, text) in sorted(published.items(), key=lambda item: item[0].id)
        ],
    )


def _state(verifier: Verifier, note: str) -> LogCheckpoint:
    """Return the content of a checkpoint, which must be of the verifier's log. Raises CheckpointInvalid."""
    state = verifier.read(note)
    if state.origin != verifier.name:
        raise CheckpointInvalid(f"the checkpoint is of another log, {state.origin}")
    return state


def _latest(notes: Iterable[str], current: str) -> list[str]:
    return [note for note in dict.fromkeys(notes) if note != current][-_MAX_EARLIER:]


def _matching(text: str, locked: Sequence[Locked]) -> Iterator[Locked]:
    try:
        entry = msgspec.json.decode(text, type=LogEntry)
    except msgspec.DecodeError:
        return  # an entry of a kind that only a later release knows
    yield from (skill for skill in locked if skill.matches(entry))


def _earlier(note: str, before: LogCheckpoint, state: LogCheckpoint, tree: Tree) -> Earlier:
    if before.size > state.size:
        raise ProofsError(
            f"the log had {before.size} entries before and has {state.size} now: it was rolled back, do not trust it"
        )
    if root(before.size, tree.subtree) != before.root:
        raise ProofsError(f"the first {before.size} entries of the log differ from those seen before: do not trust it")
    proof = consistency_proof(before.size, state.size, tree.subtree) if before.size else []
    return Earlier(checkpoint=note, proof=_encoded(proof))


def check_proofs(proofs: Proofs, verifier: Verifier, locked: Sequence[LockedSkill], notes: Iterable[str]) -> list[str]:
    """Return the faults of the proofs, found with the public key alone; an empty list if they are valid.

    `locked` are the entries of the lock. `notes` are signed checkpoints from elsewhere: those this machine has verified
    before, or those of the index.
    """
    try:
        state = _state(verifier, proofs.checkpoint)
        earlier = {_state(verifier, entry.checkpoint): entry.proof for entry in proofs.earlier}
        seen = [_state(verifier, note) for note in notes]
    except CheckpointInvalid as error:
        return [str(error)]
    proven = {before for before, proof in earlier.items() if _is_proven(before, state, proof)} | {state}
    faults = [
        f"nothing proves that the log extends its state of {before.size} entries"
        for before in earlier
        if before not in proven
    ]
    faults += [fault for checkpoint in seen if (fault := _seen_fault(checkpoint, state, proven))]
    by_id = {skill.id: skill for skill in proofs.skills}
    for skill in locked:
        if skill.id in by_id:
            faults += _skill_faults(by_id[skill.id], Locked.of(skill), state)
        elif _is_from(skill, proofs.registry):
            faults.append(f"{skill.id}: there is no proof that {skill.version} was published")
    return faults


def _is_proven(before: LogCheckpoint, state: LogCheckpoint, proof: list[str]) -> bool:
    if before.size == 0:
        return True  # every log extends the empty one
    return is_consistent(before.size, state.size, _decoded(proof), before.root, state.root)


def _seen_fault(seen: LogCheckpoint, state: LogCheckpoint, proven: set[LogCheckpoint]) -> str | None:
    if seen in proven:
        return None
    if any(checkpoint.size == seen.size for checkpoint in proven):
        return f"there are two logs: the first {seen.size} entries differ from those seen before"
    if seen.size > state.size:
        return (
            f"a later state of {seen.size} entries was seen: run 'lock --log' again; if that does not help, the log "
            "was rolled back"
        )
    return f"nothing proves that the log extends the {seen.size} entries seen before: run 'lock --log' again"


def _skill_faults(proven: Proven, locked: Locked, state: LogCheckpoint) -> Iterator[str]:
    leaf = leaf_hash(proven.entry.encode())
    if not is_included(leaf, proven.number, state.size, _decoded(proven.proof), state.root):
        yield f"{locked.id}: its entry is not in the signed log"
    elif locked not in _matching(proven.entry, [locked]):
        yield f"{locked.id}: its entry has other files or another version than the lock"


def _is_from(skill: LockedSkill, registry: str) -> bool:
    url: str = getattr(skill.origin, "url", "")
    return url.startswith(f"{registry.rstrip('/')}/packages/")


def _encoded(proof: Iterable[Hash]) -> list[str]:
    return [base64.b64encode(step).decode() for step in proof]


def _decoded(proof: Iterable[str]) -> list[Hash]:
    try:
        return [base64.b64decode(step, validate=True) for step in proof]
    except (binascii.Error, ValueError):
        return [b""]  # proves nothing


def seen_state(data_dir: Path, verifier: Verifier) -> list[str]:
    """Return the signed checkpoint that this machine verified last; an empty list before the first. Raises OSError."""
    path = _seen_file(data_dir, verifier)
    return [path.read_text(encoding="utf-8", errors="replace")] if path.exists() else []


def save_seen_state(data_dir: Path, verifier: Verifier, note: str) -> None:
    """Save a verified checkpoint, so that an older one is noticed later. Raises OSError."""
    path = _seen_file(data_dir, verifier)
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, note.encode())


def _seen_file(data_dir: Path, verifier: Verifier) -> Path:
    return data_dir / "checkpoints" / checkpoint_file(verifier.name)
