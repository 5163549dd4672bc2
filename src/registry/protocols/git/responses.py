"""Responses of smart HTTP (gitprotocol-http): the advertisement of a repository, a pack, and refusals."""

from collections.abc import AsyncIterator
from typing import Any

from litestar import Request, Response
from litestar.response import Stream

from registry import __version__
from registry.auth.basic_credentials import BASIC_CHALLENGE
from registry.errors import ClientGoneError, RegistryError
from registry.http.envelope import answer_exception, error_of
from registry.http.thread_pools import PACKAGE_POOL
from registry.protocols.git.packs import Pack
from registry.protocols.git.pkt_lines import FLUSH, MAX_DATA, line, pack_part, refusal, text_part
from registry.protocols.git.requests import PackRequest

READ, WRITE = "git-upload-pack", "git-receive-pack"
"""The services of git: that of clones and fetches, and that of pushes."""

ADVERTISEMENT = f"application/x-{READ}-advertisement"
RESULT = f"application/x-{READ}-result"
WRITE_ADVERTISEMENT = f"application/x-{WRITE}-advertisement"

_BRANCH = "refs/heads/main"
_CAPABILITIES = f"shallow no-progress side-band-64k symref=HEAD:{_BRANCH} agent=skill-registry/{__version__}"
_HEADERS = {"X-Content-Type-Options": "nosniff"}
_IN_WORDS_OF_GIT = frozenset({400, 403, 404, 409, 413, 415})
"""The statuses of refusals that git gets as a packet with status 200, because it shows no reason for most others."""


def advertisement(head: str) -> Response[bytes]:
    """Return the response that names the one branch of a repository and its commit."""
    content = [
        line(f"# service={READ}"),
        FLUSH,
        line(f"{head} HEAD\0{_CAPABILITIES}"),
        line(f"{head} {_BRANCH}"),
        FLUSH,
    ]
    return _response(b"".join(content), ADVERTISEMENT)


def without_pack(request: PackRequest) -> Response[bytes]:
    """Return the response to a request that does not want the pack yet."""
    if not request.wants:
        return _response(FLUSH, RESULT)
    return _response(_shallow_part(request) + (line("NAK") if request.negotiates else b""), RESULT)


def with_pack(request: PackRequest, pack: Pack, warning: str = "") -> Stream:
    """Return the response with a pack, before which git shows a warning, if there is one."""
    return Stream(_pack_parts(request, pack, warning), media_type=RESULT, headers=_HEADERS)


async def _pack_parts(request: PackRequest, pack: Pack, warning: str) -> AsyncIterator[bytes]:
    yield _shallow_part(request) + line("NAK")
    if warning and request.side_band:
        yield text_part(warning)
    for offset in range(0, pack.size, MAX_DATA):
        data = await PACKAGE_POOL.run(pack.read, offset, MAX_DATA)
        yield pack_part(data) if request.side_band else data
    if request.side_band:
        yield FLUSH


def _shallow_part(request: PackRequest) -> bytes:
    """Return the empty list of commits whose parents are left out: no commit has parents."""
    return FLUSH if request.deepens else b""


def answer_error(request: Request[Any, Any, Any], exception: Exception) -> Response[bytes]:
    """Turn any exception of a handler into a response that git shows: a packet, or a status with a line of text."""
    if isinstance(exception, ClientGoneError):
        return answer_exception(request, exception)
    error = error_of(request, exception)
    packets = _refusal_packets(request, error) if error.status in _IN_WORDS_OF_GIT else None
    if packets is not None:
        packets.headers.update(error.headers)
        return packets
    message = error.message
    headers = {**_HEADERS, **error.headers}
    if error.status == 401:
        message = f"{message}. With git, a token or an API key is the password, and any name the user."
        headers["WWW-Authenticate"] = BASIC_CHALLENGE
    return Response(f"{message}\n".encode(), status_code=error.status, media_type="text/plain", headers=headers)


def _refusal_packets(request: Request[Any, Any, Any], error: RegistryError) -> Response[bytes] | None:
    """Return a refusal as git reads it; None for a request that no git makes."""
    if request.method == "POST":
        return _response(refusal(error.message), RESULT)
    service = request.query_params.get("service")
    if service not in (READ, WRITE):
        return None
    media_type = ADVERTISEMENT if service != WRITE else WRITE_ADVERTISEMENT
    return _response(line(f"# service={service}") + FLUSH + refusal(error.message), media_type)


def _response(content: bytes, media_type: str) -> Response[bytes]:
    return Response(content, status_code=200, media_type=media_type, headers=dict(_HEADERS))
