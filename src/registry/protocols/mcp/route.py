"""`POST /mcp`: one JSON-RPC message in, one JSON response out, or a batch of them. There are no sessions, no streams.

Whatever is refused here is an error of JSON-RPC too, with the status of the refusal: clients show no other body.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import msgspec
from litestar import Request, Response, post
from litestar.enums import RequestEncodingType
from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.spec import OpenAPIMediaType, OpenAPIType, Operation, RequestBody, Schema
from msgspec import UNSET

from registry.errors import ClientGoneError, RegistryError
from registry.http.admission import count_again
from registry.http.envelope import HttpResponse, answer_exception, error_answer, error_of
from registry.http.links import base_url
from registry.http.requests_in_progress import caller_of
from registry.http.routes.guards import check_local_change, why_elsewhere
from registry.http.routes.parameters import ERRORS, ReadyServices
from registry.http.thread_pools import ORDINARY_POOL, OUTGOING_POOL, PACKAGE_POOL, ThreadPool
from registry.protocols.mcp.caller import Caller
from registry.protocols.mcp.definitions import INSTALL
from registry.protocols.mcp.messages import (
    BATCHING,
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
    batched,
    check_version,
    decoded_header,
    encoded,
    error_response,
    failure,
    header_values,
    joined,
    parse,
    refused,
)
from registry.protocols.mcp.methods import answer
from registry.protocols.mcp.places import may_install
from registry.protocols.mcp.tools import tool_error, tool_task
from registry.services.container import Services

MCP_PATH = "/mcp"

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

_RESPONSES = {
    status: ResponseSpec(dict[str, Any], generate_examples=False, description=str(spec.description))
    for status, spec in ERRORS.items()
}
_NO_ANSWER = ResponseSpec(None, generate_examples=False, description="A notification was taken; it has no answer")

_TAKEN = HttpResponse(202, {}, b"")

_MAX_ANSWERS = 32 << 20
"""Bytes of the answers to a batch, after which no more of its requests are answered."""

_FULL = McpError(INVALID_REQUEST, "The answers to this batch are too large: send this request in a body of its own")


@dataclass
class _AnyMessage(Operation):
    """The body in the OpenAPI document: any object, or several; the protocol has a schema of its own."""

    def __post_init__(self) -> None:
        message = Schema(type=OpenAPIType.OBJECT)
        batch = Schema(type=OpenAPIType.ARRAY, items=message)
        media = OpenAPIMediaType(schema=Schema(one_of=[message, batch]))
        self.request_body = RequestBody(content={RequestEncodingType.JSON.value: media}, required=True)


def refusal(error: RegistryError, identifier: int | str | None = None) -> HttpResponse:
    """Return the response that refuses a request: an error of JSON-RPC, with the status and headers of the refusal."""
    body = msgspec.json.encode(error_response(identifier, refused(error)))
    status, headers, _ = error_answer(error)
    return HttpResponse(status, {**headers, "content-length": str(len(body))}, body)


def answer_refusal(request: Request[Any, Any, Any], exception: Exception) -> Response[bytes]:
    """Turn an exception into the refusal of a request whose message is not known."""
    if isinstance(exception, ClientGoneError):
        return answer_exception(request, exception)
    return _sent(refusal(error_of(request, exception)))


@post(
    MCP_PATH,
    status_code=200,
    tags=["mcp"],
    responses={**_RESPONSES, 202: _NO_ANSWER},
    exception_handlers={Exception: answer_refusal},
    operation_class=_AnyMessage,
    role="user",
    changes=False,
    fails={404},
)
async def mcp(request: Request[Any, Any, Any], services: ReadyServices) -> Response[Any]:
    """Answer a message of the Model Context Protocol, in its versions from 2024-11-05 to 2026-07-28.

    In 2025-03-26, which has no header of its own, a body may be a batch of messages.
    """
    body = await request.body()
    try:
        batch = batched(body) if request.headers.get("mcp-protocol-version") in (None, BATCHING) else None
    except McpError as error:
        return _sent(_json(msgspec.json.encode(error_response(None, error)), _STATUS[error.code]))
    return _sent(
        await (_answer_message(request, services, body) if batch is None else _answer_batch(request, services, batch))
    )


async def _answer_batch(request: Request[Any, Any, Any], services: Services, messages: Sequence[bytes]) -> HttpResponse:
    """Answer the messages of a batch, one after the other. Each counts as a request of the caller.

    Raises RATE_LIMITED, before anything is answered.
    """
    for _ in messages[1:]:  # the guard has counted the first one
        await count_again(services, request.scope, "user", "read")
    answers: list[bytes | None] = []
    for message in messages:
        is_full = sum(len(answer) for answer in answers if answer) > _MAX_ANSWERS
        answers.append(
            failure(message, _FULL) if is_full else (await _answer_message(request, services, message)).body or None
        )
    body = joined(answers)
    return _TAKEN if body is None else _json(body, 200)


async def _answer_message(request: Request[Any, Any, Any], services: Services, body: bytes) -> HttpResponse:
    message: Message | None = None
    try:
        message = parse(body)
        if message.id is UNSET:
            return _TAKEN
        _check_headers(request, message)
        return _json(await _answer(request, services, message), 200)
    except McpError as error:
        is_legacy = message is not None and not message.is_modern and error.code != UNSUPPORTED_VERSION
        status = 200 if is_legacy else _STATUS.get(error.code, 200)
        return _json(msgspec.json.encode(error_response(_identifier(message), error)), status)
    except RegistryError as error:
        return refusal(error, _identifier(message))


def _identifier(message: Message | None) -> int | str | None:
    return None if message is None or message.id is UNSET else message.id


def _json(content: bytes, status: int) -> HttpResponse:
    return HttpResponse(status, {"content-type": "application/json"}, content)


def _sent(answer: HttpResponse) -> Response[bytes]:
    return Response(answer.body, status_code=answer.status, headers=answer.headers, media_type="application/json")


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
