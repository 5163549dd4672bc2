"""`skills.proofs`: what shows offline that locked skills are in the log of the registry that published them.

It lies beside `skills.lock` and holds the signed state of the log that was seen last; for each locked skill its entry
and the proof that the entry is in that state; and the states seen before, each with the proof that the last one goes on
from it. Only the registry's public key is needed to check it, and nothing in it is trusted before.
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

_MOST_EARLIER = 50


class ProofsError(Exception):
    """The proofs cannot be read or made; the message is one line that says why."""


class Proven(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One locked skill: its entry of the log, word for word, the entry's number, and the proof in base64."""

    id: str
    number: int
    entry: str
    proof: list[str]


class Earlier(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A state of the log that was seen before, and the proof that the last one goes on from it."""

    checkpoint: str
    proof: list[str]


class Proofs(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The whole file. `registry` is where it is from, `checkpoint` a signed note."""

    version: int = 1
    registry: str
    checkpoint: str
    earlier: list[Earlier]
    skills: list[Proven]


class Locked(msgspec.Struct, kw_only=True, frozen=True):
    """What a locked skill must be in the log: this version of files with this digest."""

    id: str
    version: str
    digest: str

    @classmethod
    def of(cls, skill: LockedSkill) -> "Locked":
        """Return what an entry of the lock must be."""
        return cls(id=skill.id, version=skill.version, digest=f"sha256:{skill.sha256}")

    def is_in(self, entry: LogEntry) -> bool:
        """Return whether an entry tells that these very files were published as this version."""
        return entry.kind == "publish" and (entry.version, entry.digest) == (self.version, self.digest)


def read_proofs(path: Path) -> Proofs:
    """Return what is in the file. Raises ProofsError."""
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
    """Return the proofs for what is locked, made of all entries of a log.

    Args:
        registry: Where the log is.
        note: Its signed state.
        entries: Its entries from the first on, as they are hashed; more than the state has are left out.
        verifier: Holds the public key.
        locked: The skills to be proven; those the log does not tell of are not in the result.
        notes: The signed states that were seen before.

    Raises ProofsError where the log is not what was signed, or not what it was; CheckpointInvalid.
    """
    state, tree = _state(verifier, note), Tree()
    published: dict[Locked, tuple[int, str]] = {}
    for number, text in zip(range(state.size), entries, strict=False):
        tree.append(leaf_hash(text.encode()))
        for one in _told(text, locked):
            published.setdefault(one, (number, text))
    if tree.size < state.size or root(state.size, tree.subtree) != state.root:
        raise ProofsError(f"the entries at {registry} are not those whose state is signed: do not trust it")
    return Proofs(
        registry=registry,
        checkpoint=note,
        earlier=[_earlier(old, _state(verifier, old), state, tree) for old in _latest(notes, note)],
        skills=[
            Proven(
                id=one.id, number=number, entry=text, proof=_encoded(inclusion_proof(number, state.size, tree.subtree))
            )
            for one, (number, text) in sorted(published.items(), key=lambda item: item[0].id)
        ],
    )


def _state(verifier: Verifier, note: str) -> LogCheckpoint:
    """Return what a signed state says of the log of this name. Raises CheckpointInvalid."""
    state = verifier.read(note)
    if state.origin != verifier.name:
        raise CheckpointInvalid(f"the checkpoint is of another log, {state.origin}")
    return state


def _latest(notes: Iterable[str], current: str) -> list[str]:
    return [note for note in dict.fromkeys(notes) if note != current][-_MOST_EARLIER:]


def _told(text: str, locked: Sequence[Locked]) -> Iterator[Locked]:
    try:
        entry = msgspec.json.decode(text, type=LogEntry)
    except msgspec.DecodeError:
        return  # of a kind that a later release knows
    yield from (one for one in locked if one.is_in(entry))


def _earlier(note: str, before: LogCheckpoint, state: LogCheckpoint, tree: Tree) -> Earlier:
    if before.size > state.size:
        raise ProofsError(f"the log had {before.size} entries before, and shows {state.size} now: it was set back")
    if root(before.size, tree.subtree) != before.root:
        raise ProofsError(f"the first {before.size} entries of the log are not those that were seen before")
    proof = consistency_proof(before.size, state.size, tree.subtree) if before.size else []
    return Earlier(checkpoint=note, proof=_encoded(proof))


def check_proofs(proofs: Proofs, verifier: Verifier, locked: Sequence[LockedSkill], notes: Iterable[str]) -> list[str]:
    """Return what is wrong with proofs, by the public key alone; nothing where all holds.

    `locked` is what the lock says; `notes` are signed states seen elsewhere: by this project before, or in the index.
    """
    try:
        state = _state(verifier, proofs.checkpoint)
        earlier = {_state(verifier, one.checkpoint): one.proof for one in proofs.earlier}
        seen = [_state(verifier, note) for note in notes]
    except CheckpointInvalid as error:
        return [str(error)]
    goes_on = {before for before, proof in earlier.items() if _goes_on(before, state, proof)} | {state}
    faults = [f"the log does not go on from its {before.size} entries" for before in earlier if before not in goes_on]
    faults += [fault for one in seen if (fault := _seen_fault(one, state, goes_on))]
    by_id = {one.id: one for one in proofs.skills}
    for skill in locked:
        if skill.id in by_id:
            faults += _skill_faults(by_id[skill.id], Locked.of(skill), state)
        elif _is_from(skill, proofs.registry):
            faults.append(f"{skill.id}: there is no proof that {skill.version} was published")
    return faults


def _goes_on(before: LogCheckpoint, state: LogCheckpoint, proof: list[str]) -> bool:
    if before.size == 0:
        return True  # every log goes on from nothing
    return is_consistent(before.size, state.size, _decoded(proof), before.root, state.root)


def _seen_fault(seen: LogCheckpoint, state: LogCheckpoint, goes_on: set[LogCheckpoint]) -> str | None:
    if seen in goes_on:
        return None
    if any(one.size == seen.size for one in goes_on):
        return f"there are two logs: another one was seen whose first {seen.size} entries differ"
    if seen.size > state.size:
        return (
            f"a later state of {seen.size} entries was seen: the log was set back, or 'lock --log' is to be run again"
        )
    return f"nothing shows that the log goes on from the {seen.size} entries seen before: run 'lock --log' again"


def _skill_faults(proven: Proven, locked: Locked, state: LogCheckpoint) -> Iterator[str]:
    leaf = leaf_hash(proven.entry.encode())
    if not is_included(leaf, proven.number, state.size, _decoded(proven.proof), state.root):
        yield f"{locked.id}: its entry is not in the log that was signed"
    elif locked not in _told(proven.entry, [locked]):
        yield f"{locked.id}: its entry tells of other files or another version than the lock"


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
    """Return the signed state of a log that was last checked here, none before the first time. Raises OSError."""
    path = _seen_file(data_dir, verifier)
    return [path.read_text(encoding="utf-8", errors="replace")] if path.exists() else []


def keep_seen(data_dir: Path, verifier: Verifier, note: str) -> None:
    """Keep a state that was checked, so that an older one is noticed. Raises OSError."""
    path = _seen_file(data_dir, verifier)
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, note.encode())


def _seen_file(data_dir: Path, verifier: Verifier) -> Path:
    return data_dir / "checkpoints" / checkpoint_file(verifier.name)
