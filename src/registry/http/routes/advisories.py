"""The advisories: what was withdrawn and restored, signed by the log, and as OSV records for existing scanners."""

from typing import Annotated, Any

from litestar import get
from litestar.params import QueryParameter

from registry.http.envelope import Ok
from registry.http.routes.parameters import ERRORS, RunningServices
from registry.http.thread_pools import ORDINARY_POOL
from registry.parsing.strict_json import MAX_INTEGER
from registry.publish.osv import OsvList, osv_list
from registry.services.registry_profile import Advisories

DEFAULT_ADVISORIES, MOST_ADVISORIES = 100, 500
_OPTIONS: dict[str, Any] = {"tags": ["transparency log"], "responses": ERRORS, "role": "user"}

After = Annotated[
    int, QueryParameter(ge=0, le=MAX_INTEGER, description="The number of the last entry that the caller knows")
]
Limit = Annotated[
    int, QueryParameter(ge=1, le=MAX_INTEGER, description=f"How many to answer; above {MOST_ADVISORIES} counts as that")
]


@get("/registry/advisories", **_OPTIONS)
@ORDINARY_POOL.handler
def list_advisories(running: RunningServices, after: After = 0, limit: Limit = DEFAULT_ADVISORIES) -> Ok[Advisories]:
    """List what was yanked, revoked, deprecated and restored, with the proofs that the signed log includes it."""
    return Ok(running.registry.advisories(after, min(limit, MOST_ADVISORIES)))


@get("/registry/advisories/osv", **_OPTIONS)
@ORDINARY_POOL.handler
def list_osv(running: RunningServices) -> OsvList:
    """List the same as OSV records, without the envelope: one for each version or skill that was ever withdrawn."""
    return osv_list(running.database, running.registry.log, running.registry.signer.name)


ADVISORIES = [list_advisories, list_osv]
