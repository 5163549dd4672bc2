"""Mirrors of other registries: below `/mirrors/<source>` are the paths that a client of such a registry reads."""

import hashlib
from typing import Any

import msgspec
from litestar import Request, Response, get
from litestar.params import FromPath

from registry import __version__
from registry.domain.api import API, MIRRORS_PATH
from registry.domain.roles import PUBLIC
from registry.http.conditional_requests import not_modified
from registry.http.envelope import Ok
from registry.http.links import base_url
from registry.http.request_state import request_state
from registry.http.routes.advisories import DEFAULT_ADVISORIES, MOST_ADVISORIES, After, Limit
from registry.http.routes.discovery import Discovery
from registry.http.routes.index import NDJSON
from registry.http.routes.log import MOST_ENTRIES, Entries, Number, Proof, Size, VerifierKey, proof_within
from registry.http.routes.parameters import ERRORS, RunningServices
from registry.http.routes.publish import KEPT_FOREVER, sent_package, version_of
from registry.http.thread_pools import OUTGOING_POOL
from registry.mirrors.mirror import Mirror
from registry.services.registry_profile import Advisories, PublishProof, advisories_of

MIRROR_PREFIX = f"{MIRRORS_PATH}/{{name:str}}"

_OPTIONS: dict[str, Any] = {"tags": ["mirrors"], "responses": ERRORS, "role": "user"}
_PACKAGE = "/packages/{skill_scope:str}/{skill_name:str}/{file:str}"
_PROOF = f"{API}/log/proof/{{skill_scope:str}}/{{skill_name:str}}/{{version:str}}"


@get("/.well-known/skill-registry.json", tags=["mirrors"], responses=ERRORS, role=PUBLIC)
@OUTGOING_POOL.handler
def discover_mirror(request: Request[Any, Any, Any], running: RunningServices, name: FromPath[str]) -> Discovery:
    """Describe a mirror: its log and the key are those of the registry that it mirrors."""
    return Discovery(
        service_version=__version__,
        url=_address(request, running, name),
        anonymous_read=running.settings.profile == "local" or running.settings.auth.anonymous_read,
        log=_key(running.mirrors.of(name)),
    )


@get("/index/{skill_id:path}", media_type=NDJSON, **_OPTIONS)
@OUTGOING_POOL.handler
def get_mirrored_index(
    request: Request[Any, Any, Any], running: RunningServices, name: FromPath[str], skill_id: FromPath[str]
) -> Response[bytes]:
    """Return the index file of a mirrored skill, whose packages the mirror has. It lists what the log has."""
    lines = running.mirrors.of(name).lines(skill_id.removeprefix("/"), _address(request, running, name))
    content = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
    answer = not_modified(request, content, f'"{hashlib.sha256(content).hexdigest()[:32]}"')
    answer.media_type = NDJSON
    return answer


@get(_PACKAGE, media_type="application/zip", fails={409, 429}, **_OPTIONS)
async def download_mirrored(
    request: Request[Any, Any, Any],
    running: RunningServices,
    name: FromPath[str],
    skill_scope: FromPath[str],
    skill_name: FromPath[str],
    file: FromPath[str],
) -> Response[Any]:
    """Return the package of a mirrored version, `<version>.zip`, with the digest that the log has."""
    version = version_of(file)
    request.app.state.downloads.begin(request.scope)
    mirror = await OUTGOING_POOL.run(running.mirrors.of, name)
    package = await OUTGOING_POOL.run(mirror.package, f"{skill_scope}/{skill_name}", version)
    request_state(request.scope).at_end(package.file.close)
    response = not_modified(request, None, f'"{package.checksum}"', KEPT_FOREVER)
    if response.status_code == 304:
        return Response(b"", status_code=304, media_type="application/zip", headers=response.headers)
    return sent_package(package.file, package.size, f"{skill_name}-{version}.zip", response)


@get(f"{API}/log/checkpoint", media_type="text/plain", **_OPTIONS)
@OUTGOING_POOL.handler
def get_mirrored_checkpoint(running: RunningServices, name: FromPath[str]) -> Response[str]:
    """Return the last checkpoint of the log of a mirrored registry, as that has signed it."""
    note, _ = running.mirrors.of(name).log().signed()
    return Response(note, media_type="text/plain")


@get(f"{API}/log/key", **_OPTIONS)
@OUTGOING_POOL.handler
def get_mirrored_key(running: RunningServices, name: FromPath[str]) -> Ok[VerifierKey]:
    """Return the public key of the log of a mirrored registry."""
    return Ok(_key(running.mirrors.of(name)))


@get(f"{API}/log/entries", **_OPTIONS)
@OUTGOING_POOL.handler
def list_mirrored_entries(running: RunningServices, name: FromPath[str], start: Number = 0) -> Ok[Entries]:
    """Return at most 1,000 entries of the log of a mirrored registry, beginning at an index."""
    return Ok(Entries(start=start, entries=running.mirrors.of(name).entries(start, MOST_ENTRIES)))


@get(f"{API}/log/inclusion", **_OPTIONS)
@OUTGOING_POOL.handler
def prove_mirrored_inclusion(running: RunningServices, name: FromPath[str], number: Number, size: Size) -> Ok[Proof]:
    """Return the inclusion proof of an entry in the log of a mirrored registry."""
    log = running.mirrors.of(name).log()
    return Ok(proof_within(log.size, size, "number", lambda: log.inclusion(number, size)))


@get(f"{API}/log/consistency", **_OPTIONS)
@OUTGOING_POOL.handler
def prove_mirrored_consistency(running: RunningServices, name: FromPath[str], before: Size, size: Size) -> Ok[Proof]:
    """Return the consistency proof between two sizes of the log of a mirrored registry."""
    log = running.mirrors.of(name).log()
    return Ok(proof_within(log.size, size, "before", lambda: log.consistency(before, size)))


@get(_PROOF, **_OPTIONS)
@OUTGOING_POOL.handler
def prove_mirrored_publish(
    running: RunningServices,
    name: FromPath[str],
    skill_scope: FromPath[str],
    skill_name: FromPath[str],
    version: FromPath[str],
) -> Ok[PublishProof]:
    """Return the log entry of a mirrored version, with the checkpoint and the inclusion proof that belong together."""
    proven, size = running.mirrors.of(name).proof(f"{skill_scope}/{skill_name}", version)
    return Ok(PublishProof(**msgspec.structs.asdict(proven), size=size))


@get(f"{API}/registry/advisories", **_OPTIONS)
@OUTGOING_POOL.handler
def list_mirrored_advisories(
    running: RunningServices, name: FromPath[str], after: After = 0, limit: Limit = DEFAULT_ADVISORIES
) -> Ok[Advisories]:
    """List what a mirrored registry has withdrawn and restored, with the proofs that its signed log includes it."""
    mirror, limit = running.mirrors.of(name), min(limit, MOST_ADVISORIES)
    log = mirror.log()
    note, size = log.signed()
    withdrawals = mirror.withdrawing(after, limit + 1)
    return Ok(advisories_of(withdrawals, after, limit, note, size, log.inclusion))


def _address(request: Request[Any, Any, Any], running: RunningServices, name: str) -> str:
    return f"{base_url(request, running)}{MIRRORS_PATH}/{name}"


def _key(mirror: Mirror) -> VerifierKey:
    key = mirror.key()
    return VerifierKey(name=key.partition("+")[0], key=key)


MIRRORS = [
    discover_mirror,
    get_mirrored_index,
    download_mirrored,
    get_mirrored_checkpoint,
    get_mirrored_key,
    list_mirrored_entries,
    prove_mirrored_inclusion,
    prove_mirrored_consistency,
    prove_mirrored_publish,
    list_mirrored_advisories,
]
