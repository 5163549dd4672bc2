"""The routes of the git view: the two that reading needs, and the one that refuses to write."""

from typing import Annotated, Any

from litestar import Request, Response, get, post
from litestar.params import QueryParameter

from registry.errors import RegistryError, forbidden, validation_error
from registry.http.counted_uses import count_use
from registry.http.routes.parameters import ReadyServices
from registry.http.thread_pools import PACKAGE_POOL
from registry.protocols.git.addresses import SkillAddress, address_of, paths
from registry.protocols.git.marketplaces import Marketplaces
from registry.protocols.git.openapi import ERRORS, Advertised, Requested
from registry.protocols.git.packs import Pack
from registry.protocols.git.requests import MAX_BODY, PackRequest, decompressed, parse_request
from registry.protocols.git.responses import (
    ADVERTISEMENT,
    READ,
    RESULT,
    WRITE,
    advertisement,
    answer_error,
    with_pack,
    without_pack,
)
from registry.protocols.git.skills import skill_head, skill_pack, skill_warning
from registry.services.container import Services

_GZIP = "gzip"

_OPTIONS: dict[str, Any] = {
    "tags": ["git"],
    "responses": ERRORS,
    "role": "user",
    "basic": True,
    "packed": True,
    "exception_handlers": {Exception: answer_error},
}

_Service = Annotated[str, QueryParameter(name="service", max_length=100, description=f"`{READ}`")]


@get(paths("info/refs"), media_type=ADVERTISEMENT, operation_class=Advertised, **_OPTIONS)
async def get_git_refs(request: Request[Any, Any, Any], services: ReadyServices, service: _Service) -> Response[bytes]:
    """Name the commit of a repository: the first request of `git clone` and `git fetch`."""
    if service == WRITE:
        raise _read_only()
    if service != READ:
        raise validation_error(message=f"This repository has only the service {READ}")
    address = address_of(request)
    if isinstance(address, SkillAddress):
        return advertisement(await PACKAGE_POOL.run(skill_head, services, address))
    return advertisement((await _marketplaces(request).current(address.scope)).head)


@post(
    paths(READ),
    status_code=200,
    media_type=RESULT,
    changes=False,
    operation_class=Requested,
    body_encoding=_GZIP,
    request_max_body_size=MAX_BODY,
    fails={429},
    **_OPTIONS,
)
async def post_git_upload_pack(request: Request[Any, Any, Any], services: ReadyServices) -> Response[Any]:
    """Return the pack with the objects of a repository: the second request of `git clone` and `git fetch`."""
    body = await request.body()
    is_compressed = request.headers.get("content-encoding", "").lower() == _GZIP
    pack_request = parse_request(decompressed(body) if is_compressed else body)
    if not (pack_request.wants and pack_request.is_done):
        return without_pack(pack_request)
    request.app.state.downloads.begin(request.scope)
    pack, address = await _pack(request, services, pack_request), address_of(request)
    if not isinstance(address, SkillAddress):
        return with_pack(pack_request, pack)
    count_use(request, address.skill_id, "downloaded")
    return with_pack(pack_request, pack, await PACKAGE_POOL.run(skill_warning, services, address))


@post(paths(WRITE), status_code=200, media_type=RESULT, changes=False, operation_class=Requested, **_OPTIONS)
async def post_git_receive_pack() -> Response[bytes]:
    """Refuse a push."""
    raise _read_only()


async def _pack(request: Request[Any, Any, Any], services: Services, pack_request: PackRequest) -> Pack:
    """Return the pack of what a request wants. Raises NOT_FOUND for anything but the commit of the repository."""
    address = address_of(request)
    if isinstance(address, SkillAddress):
        head, pack = await PACKAGE_POOL.run(skill_pack, services, address)
    else:
        head, pack = await _marketplaces(request).pack(address.scope, pack_request.wants)
    if lacking := sorted(pack_request.wants - {head}):
        raise validation_error(message=f"upload-pack: not our ref {lacking[0]} (clone again if it has just changed)")
    return pack


def _read_only() -> RegistryError:
    return forbidden("This repository is read-only: publish skills with `skill-registry publish`")


def _marketplaces(request: Request[Any, Any, Any]) -> Marketplaces:
    marketplaces: Marketplaces = request.app.state.marketplaces
    return marketplaces


ROUTES = [get_git_refs, post_git_upload_pack, post_git_receive_pack]
