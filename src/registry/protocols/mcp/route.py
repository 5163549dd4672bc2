"""`POST /mcp`: one JSON-RPC message in, one JSON response out. There are no sessions and no streams."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import msgspec
from litestar import Request, Response, post
from litestar.enums import RequestEncodingType
from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.spec import OpenAPIMediaType, OpenAPIType, Operation, RequestBody, Schema
from msgspec import UNSET, UnsetType

from registry.errors import RegistryError
from registry.http.links import base_url
from registry.http.requests_in_progress import caller_of
from registry.http.routes.guards import check_local_change, why_elsewhere
from registry.http.routes.parameters import ERRORS, ReadyServices
from registry.http.thread_pools import ORDINARY_POOL, OUTGOING_POOL, PACKAGE_POOL, ThreadPool
from registry.protocols.mcp.caller import Caller
from registry.protocols.mcp.definitions import INSTALL
from registry.protocols.mcp.messages import (
    HANDSHAKE,
    HEADER_MISMATCH,
    INITIALIZE,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MODERN,
    PARSE_ERROR,
    UNSUPPORTED_VERSION,
    VERSION_KEY,
    McpError,
    Message,
    check_version,
    decoded_header,
    encoded,
    error_response,
    header_values,
    parse,
)
from registry.protocols.mcp.methods import answer
from registry.protocols.mcp.places import may_install
from registry.protocols.mcp.tools import tool_error, tool_task
from registry.services.container import Services

_STATUS: Mapping[int, int] = MappingProxyType(
    {
        PARSE_ERROR: 400,
        INVALID_REQUEST: 400,
        INVALID_PARAMS: 400,
        HEADER_MISMATCH: 400,
        UNSUPPORTED_VERSION: 400,
        METHOD_NOT_FOUND: 404,
    }
)
"""The status of a response with an error, in the new dialect and where no request was understood."""


_RESPONSES = ERRORS | {
    status: ResponseSpec(dict[str, Any], generate_examples=False, description="An error of the protocol")
    for status in (400, 404)
}
_TAKEN = ResponseSpec(None, generate_examples=False, description="A notification was taken; it has no answer")


@dataclass
class _AnyMessage(Operation):
    """The body in the OpenAPI document: any object, because the protocol has a schema of its own."""

    def __post_init__(self) -> None:
        media = OpenAPIMediaType(schema=Schema(type=OpenAPIType.OBJECT))
        self.request_body = RequestBody(content={RequestEncodingType.JSON.value: media}, required=True)


@post(
    "/mcp",
    status_code=200,
    tags=["mcp"],
    responses={**_RESPONSES, 202: _TAKEN},
    operation_class=_AnyMessage,
    role="user",
    changes=False,
    fails={404},
)
async def mcp(request: Request[Any, Any, Any], services: ReadyServices) -> Response[Any]:
    """Answer a message of the Model Context Protocol, in its versions from 2024-11-05 to 2026-07-28."""
    message: Message | None = None
    try:
        message = parse(await request.body())
        if message.id is UNSET:
            return Response(b"", status_code=202)
        _check_headers(request, message)
        return _json(await _answer(request, services, message), 200)
    except McpError as error:
        is_legacy = message is not None and not message.is_modern and error.code != UNSUPPORTED_VERSION
        status = 200 if is_legacy else _STATUS.get(error.code, 200)
        identifier: int | str | None | UnsetType = message.id if message is not None else None
        return _json(msgspec.json.encode(error_response(identifier, error)), status)


def _json(content: bytes, status: int) -> Response[Any]:
    return Response(content, status_code=status, media_type="application/json")


async def _answer(request: Request[Any, Any, Any], services: Services, message: Message) -> bytes:
    """Return the response to a request. One with a large file is encoded in the thread that has read it."""
    task = tool_task(services, message.params) if message.method == "tools/call" else None
    if task is not None:
        return encoded(message, await request.app.state.searches.run(request.scope, task))
    name = message.params.get("name")
    if message.method == "tools/call" and name == INSTALL and may_install(services):
        try:
            await check_local_change(request, services.settings.server)
        except RegistryError as error:
            return encoded(message, tool_error(error))
    is_here = message.method == "tools/call" and await why_elsewhere(request) is None
    caller = Caller(is_here, base_url(request, services), caller_of(request.scope))
    return await _pool(message.method, name).run(answer, services, message, caller)


def _pool(method: str, name: object) -> ThreadPool:
    if method == "tools/call":
        return OUTGOING_POOL if name == INSTALL else ORDINARY_POOL
    return PACKAGE_POOL


def _check_headers(request: Request[Any, Any, Any], message: Message) -> None:
    """Check that the headers say what the body says. Raises McpError."""
    version = request.headers.get("mcp-protocol-version")
    if not message.is_modern and (version in (None, *HANDSHAKE) or message.method == INITIALIZE):
        return
    if not message.is_modern:
        raise McpError(
            UNSUPPORTED_VERSION if version != MODERN else INVALID_PARAMS,
            "Unsupported protocol version" if version != MODERN else f"params._meta must have '{VERSION_KEY}'",
            {"supported": [MODERN, *HANDSHAKE], "requested": version},
        )
    expected = header_values(message)
    for header, value in expected.items():
        sent = request.headers.getall(header, [])
        if len(sent) != 1 or decoded_header(sent[0]) != value:
            raise McpError(HEADER_MISMATCH, f"The header {header} must be sent once and say what the body says")
    check_version(message)


MCP = [mcp]
