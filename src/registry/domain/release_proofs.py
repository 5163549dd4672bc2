"""What a client keeps of the proof that a registry has published a release.

`transparency.release_proof` checks it. These types are here because commands read them, and cryptography starts slowly.
"""

from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from registry.domain.findings import Risk

Note = Annotated[str, Meta(max_length=10_000, extra={"rule": "must be at most 10,000 characters", "multiline": True})]
ProofStep = Annotated[str, Meta(max_length=100, extra={"rule": "each must be a hash in base64"})]
ProofKey = Annotated[str, Meta(max_length=1000, extra={"rule": "must be a verifier key, name+hash+base64"})]

RuleName = Annotated[str, Meta(max_length=100, extra={"rule": "each must be the name of a rule"})]


class ReleaseProof(msgspec.Struct, kw_only=True, frozen=True):
    """The log entry of one release, and its inclusion in a signed state of the log.

    Args:
        checkpoint: The signed state of the log, as a signed note.
        number: The number of the entry, from 0 on.
        entry: The entry as the canonical text that is hashed.
        proof: The inclusion proof in base64 (RFC 9162, section 2.1.3).
    """

    checkpoint: Note
    number: Annotated[int, Meta(ge=0, le=2**53, extra={"rule": "must be a number from 0 on"})]
    entry: Note
    proof: Annotated[list[ProofStep], Meta(max_length=64, extra={"rule": "must be at most 64"})]


class PinnedProof(ReleaseProof, kw_only=True, frozen=True, omit_defaults=True):
    """A proof together with the key that it was verified with, as `name+hash+base64`.

    `risk` and `rules` are what the scan found when the release was installed: the risk, and the names of the rules in
    order. Locks of earlier releases have no `risk`.
    """

    key: ProofKey
    risk: Risk | None = None
    rules: Annotated[list[RuleName], Meta(max_length=100, extra={"rule": "must be at most 100"})] = []


PUBLISHER_CHARACTERS = 500

PublisherText = Annotated[
    str,
    Meta(
        max_length=PUBLISHER_CHARACTERS,
        pattern=r"^[^\x00-\x1f\x7f]*$(?!\n)",
        extra={"rule": "must be one line of at most 500 characters"},
    ),
]


class PublisherRun(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """The run of a workflow that has published a release, as the issuer of its identity token says.

    `issuer` is the URL of the issuer. The others are empty where it does not say them.
    """

    issuer: PublisherText
    repository: PublisherText = ""
    workflow_ref: PublisherText = ""
    ref: PublisherText = ""
    sha: PublisherText = ""
    run_id: PublisherText = ""

    def line(self) -> str:
        """Return the workflow, its commit and its run in one line."""
        parts = [self.workflow_ref or self.repository or self.issuer]
        parts += [f"commit {self.sha[:12]}"] if self.sha else []
        parts += [f"run {self.run_id}"] if self.run_id else []
        return ", ".join(parts)


class LoggedRelease(NamedTuple):
    """What the log must say about a release: `sha256` of the zip and `digest` of the tree, each with its prefix."""

    skill_id: str
    version: str
    sha256: str
    digest: str
