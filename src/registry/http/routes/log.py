"""The transparency log: signed checkpoints, entries, and proofs."""

from collections.abc import Callable
from typing import Annotated, Any

import msgspec
from litestar import Response, get
from litestar.params import FromPath, QueryParameter

from registry.errors import FieldError, validation_error
from registry.http.envelope import Ok
from registry.http.routes.parameters import ERRORS, RunningServices
from registry.http.thread_pools import ORDINARY_POOL
from registry.parsing.strict_json import MAX_INTEGER
from registry.services.container import Services
from registry.services.registry_profile import PublishProof
from registry.transparency.merkle import Hash
from registry.transparency.release_proof import encode_hashes

MOST_ENTRIES = 1000
_OPTIONS: dict[str, Any] = {"tags": ["transparency log"], "responses": ERRORS, "role": "user"}

Number = Annotated[int, QueryParameter(ge=0, le=MAX_INTEGER, description="Of an entry, from 0 on")]
Size = Annotated[int, QueryParameter(ge=1, le=MAX_INTEGER, description="Of the log: that of a checkpoint")]


class VerifierKey(msgspec.Struct, kw_only=True):
    """The public key of the checkpoints, and the name they are signed under."""

    name: str
    key: str


class Entries(msgspec.Struct, kw_only=True):
    """Entries in order, each exactly the text that is hashed."""

    start: int
    entries: list[str]


class Proof(msgspec.Struct, kw_only=True):
    """The hashes of a proof in order, in base64 (RFC 9162, section 2.1.3 and 2.1.4)."""

    size: int
    proof: list[str]


@get("/log/checkpoint", media_type="text/plain", **_OPTIONS)
@ORDINARY_POOL.handler
def get_checkpoint(running: RunningServices) -> Response[str]:
    """Return the checkpoint of the log, as a signed note."""
    return Response(running.registry.checkpoint(), media_type="text/plain")


@get("/log/key", **_OPTIONS)
@ORDINARY_POOL.handler
def get_log_key(running: RunningServices) -> Ok[VerifierKey]:
    """Return the public key that verifies checkpoints."""
    return Ok(verifier_key(running))


def verifier_key(services: Services) -> VerifierKey:
    """Return the public key of the log."""
    signer = services.registry.signer
    return VerifierKey(name=signer.name, key=signer.verifier_key)


@get("/log/entries", **_OPTIONS)
@ORDINARY_POOL.handler
def list_log_entries(running: RunningServices, start: Number = 0) -> Ok[Entries]:
    """Return at most 1,000 entries, beginning at an index."""
    return Ok(Entries(start=start, entries=running.registry.log.entries(start, MOST_ENTRIES)))


@get("/log/inclusion", **_OPTIONS)
@ORDINARY_POOL.handler
def prove_inclusion(running: RunningServices, number: Number, size: Size) -> Ok[Proof]:
    """Return the inclusion proof of an entry in the log of a given size."""
    log = running.registry.log
    return Ok(proof_within(log.size(), size, "number", lambda: log.inclusion(number, size)))


@get("/log/consistency", **_OPTIONS)
@ORDINARY_POOL.handler
def prove_consistency(running: RunningServices, before: Size, size: Size) -> Ok[Proof]:
    """Return the consistency proof between two sizes of the log."""
    log = running.registry.log
    return Ok(proof_within(log.size(), size, "before", lambda: log.consistency(before, size)))


@get("/log/proof/{skill_scope:str}/{skill_name:str}/{version:str}", **_OPTIONS)
@ORDINARY_POOL.handler
def prove_publish(
    running: RunningServices, skill_scope: FromPath[str], skill_name: FromPath[str], version: FromPath[str]
) -> Ok[PublishProof]:
    """Return the log entry of a published version, with the checkpoint and the inclusion proof that belong together."""
    return Ok(running.registry.publish_proof(f"{skill_scope}/{skill_name}", version))


def proof_within(there: int, size: int, field: str, prove: Callable[[], list[Hash]]) -> Proof:
    """Return the proof of the first `size` of a log's `there` entries.

    Raises VALIDATION_ERROR for a size that the log never had, and for `field` where `prove` raises ValueError.
    """
    if size > there:
        raise validation_error(FieldError("size", f"must be at most {there}: the log has no more entries"))
    try:
        return Proof(size=size, proof=encode_hashes(prove()))
    except ValueError as error:
        raise validation_error(FieldError(field, str(error))) from None


LOG = [get_checkpoint, get_log_key, list_log_entries, prove_inclusion, prove_consistency, prove_publish]
