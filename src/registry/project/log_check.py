"""Checks the proofs in a lock file: offline, with the lock file, a public key and perhaps a clone of the index."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from registry.domain.origins import RegistryOrigin
from registry.domain.release_proofs import PublisherRun
from registry.parsing.json_document import JsonUnreadable, read_json
from registry.project.lock_file import LockedSkill
from registry.transparency.checkpoint import CheckpointInvalid, LogCheckpoint, Verifier, checkpoint_file
from registry.transparency.release_proof import ProofInvalid, check_release, describe, publisher_of


class LogReport(msgspec.Struct, kw_only=True):
    """The result of a check: how many skills the logs of their registries include, and what is wrong.

    `publishers` are the runs of workflows that have published skills, by the ids of the skills. They are proven.
    """

    proven: int = 0
    publishers: dict[str, PublisherRun] = msgspec.field(default_factory=dict)
    faults: list[str] = msgspec.field(default_factory=list)


class _IndexLine(msgspec.Struct):
    vers: str
    cksum: str | None = None


def check_log(locked: Sequence[LockedSkill], trusted: Verifier | None, index: Path | None) -> LogReport:
    """Check that the log of its registry includes every locked release.

    Args:
        locked: The entries of the lock. Those of other origins than a registry have no proof and are skipped.
        trusted: The key of the log. By default the key in each entry is used, which the installation has stored.
        index: A clone of the registry's index, which must show the same releases and the same log.

    Raises OSError if the index cannot be read.
    """
    report = LogReport()
    seen: dict[tuple[str, int], LogCheckpoint] = {}
    for skill in locked:
        if not isinstance(skill.origin, RegistryOrigin):
            continue
        try:
            state, verifier = _included(skill, trusted)
            _check_same_log(seen, verifier, state)
            if index is not None:
                _check_index(skill, index)
                _check_witness(index, verifier, state)
        except (ProofInvalid, CheckpointInvalid) as error:
            report.faults.append(f"{skill.id}: {error}")
        else:
            report.proven += 1
            if skill.log is not None and (run := publisher_of(skill.log)) is not None:
                report.publishers[skill.id] = run
    return report


def _included(skill: LockedSkill, trusted: Verifier | None) -> tuple[LogCheckpoint, Verifier]:
    """Return the state of the log that includes a release, and its key. Raises ProofInvalid, CheckpointInvalid."""
    if skill.log is None:
        raise ProofInvalid(f"the lock has no proof that {skill.version} was published: install it again")
    verifier = trusted or Verifier(skill.log.key)
    if skill.log.key != verifier.text:
        raise ProofInvalid(f"the lock has the log key {skill.log.key}, not {verifier.text}")
    return check_release(skill.log, verifier, skill.logged), verifier


def _check_same_log(seen: dict[tuple[str, int], LogCheckpoint], verifier: Verifier, state: LogCheckpoint) -> None:
    """Raise ProofInvalid if the lock has two states of one log with equal sizes and different roots."""
    earlier = seen.setdefault((verifier.text, state.size), state)
    if earlier != state:
        raise ProofInvalid(f"there are two logs: {describe(earlier)}, and {describe(state)}")


def _check_index(skill: LockedSkill, index: Path) -> None:
    """Raise ProofInvalid if the index does not list the locked package."""
    origin = skill.origin
    path = index / (origin.skill if isinstance(origin, RegistryOrigin) else skill.id)
    lines = _index_lines(path) if path.is_file() else {}
    if lines.get(skill.version) != f"sha256:{skill.package}":
        raise ProofInvalid(f"the index lists {lines.get(skill.version) or 'no package'} for {skill.version}")


def _index_lines(path: Path) -> Mapping[str, str | None]:
    try:
        lines = [read_json(line, _IndexLine) for line in path.read_bytes().splitlines() if line.strip()]
    except JsonUnreadable:
        raise ProofInvalid(f"the file {path.name} of the index cannot be read") from None
    return {line.vers: line.cksum for line in lines}


def _check_witness(index: Path, verifier: Verifier, state: LogCheckpoint) -> None:
    """Raise ProofInvalid or CheckpointInvalid if the index has another log than the lock."""
    path = index / checkpoint_file(verifier.name)
    if not path.is_file():
        raise ProofInvalid(f"the index has no {path.name}")
    witness = verifier.read(path.read_text(encoding="utf-8", errors="replace"))
    if witness.size == state.size and witness.root != state.root:
        raise ProofInvalid(f"there are two logs: the lock has {describe(state)}, the index {describe(witness)}")
    if witness.size < state.size:
        raise ProofInvalid(f"the index is older: the lock has {describe(state)}, the index {describe(witness)}")
