"""JSON-RPC messages of the Model Context Protocol, in both of its dialects.

Version 2026-07-28 has no handshake: each request carries its version in `params._meta`, and a result says that it is
complete and how long it may be kept. The versions before begin with `initialize`.
"""

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from registry import __version__
from registry.domain.addresses import redact_text
from registry.errors import RegistryError
from registry.parsing.json_document import JsonUnreadable, read_json
from registry.parsing.strict_json import MAX_VALUES, has_more_values

MODERN = "2026-07-28"
BATCHING = "2025-03-26"
"""The only version in which a body may be several messages."""

HANDSHAKE = ("2025-11-25", "2025-06-18", BATCHING, "2024-11-05")
"""The versions with a handshake, the newest first. Clients leave a server that answers with one they do not know."""

INITIALIZE = "initialize"
"""The method with which a client and the server agree on one of them, whatever the headers of HTTP say."""

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
_SERVER_KEY = "io.modelcontextprotocol/serverInfo"

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
HEADER_MISMATCH = -32020
UNSUPPORTED_VERSION = -32022

SERVER = {"name": "skill-registry", "version": __version__}

_KEPT_MILLISECONDS = 60_000
_KEPT_METHODS = frozenset(
    {
        "server/discover",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "skills/list",
        "skills/get",
    }
)


_NAMED_BY: Mapping[str, str] = MappingProxyType({"tools/call": "name", "prompts/get": "name", "resources/read": "uri"})
_MAX_BATCH = 20
"""Messages in one batch."""

_BASE64 = "=?base64?"
_PLAIN = re.compile(r"[\x21-\x7e]+(?: +[\x21-\x7e]+)*")


class McpError(Exception):
    """A request that is answered with an error of the protocol."""

    def __init__(self, code: int, message: str, data: object = UNSET) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class Message(msgspec.Struct, kw_only=True):
    """A request, or without an id a notification."""

    jsonrpc: Literal["2.0"]
    id: int | str | UnsetType = UNSET
    method: str
    params: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def is_modern(self) -> bool:
        """Whether the request says its version itself."""
        meta = self.params.get("_meta")
        return isinstance(meta, dict) and VERSION_KEY in meta


def parse(body: bytes) -> Message:
    """Return the message of a body. Raises McpError."""
    try:
        value = read_json(body)
    except JsonUnreadable:
        raise McpError(PARSE_ERROR, "The body is not JSON") from None
    if has_more_values(body, MAX_VALUES):
        raise McpError(INVALID_REQUEST, f"The body has more than {MAX_VALUES:,} values")
    if isinstance(value, dict) and value.get("params") in (None, []):  # some clients write what they leave out
        value.pop("params", None)
    try:
        return msgspec.convert(value, Message)
    except msgspec.ValidationError as error:
        raise McpError(INVALID_REQUEST, f"The body must be one JSON-RPC request or notification: {error}") from None


def batched(body: bytes) -> Sequence[bytes] | None:
    """Return the messages of a batch; None if a body is anything else. Raises McpError for a batch out of bounds."""
    if not body.lstrip().startswith(b"["):
        return None
    try:
        messages = [bytes(message) for message in read_json(body, list[msgspec.Raw])]
    except JsonUnreadable:
        raise McpError(PARSE_ERROR, "The body is not JSON") from None
    if has_more_values(body, MAX_VALUES):
        raise McpError(INVALID_REQUEST, f"The body has more than {MAX_VALUES:,} values")
    if not 1 <= len(messages) <= _MAX_BATCH:
        raise McpError(INVALID_REQUEST, f"A batch must have 1 to {_MAX_BATCH} messages: this one has {len(messages):,}")
    return messages


def joined(answers: Iterable[bytes | None]) -> bytes | None:
    """Return the responses to the messages of a batch as one line of JSON; None if it had only notifications."""
    responses = [answer for answer in answers if answer is not None]
    return b"[%s]" % b",".join(responses) if responses else None


def each_answered(body: bytes, answered: Callable[[bytes], bytes | None]) -> bytes | None:
    """Return what is answered to a message, or to each of a batch, as one line of JSON; None for notifications.

    For bodies that do not say their version, as over standard input.
    """
    try:
        messages = batched(body)
    except McpError as error:
        return msgspec.json.encode(error_response(UNSET, error))
    return answered(body) if messages is None else joined(map(answered, messages))


def check_version(message: Message) -> None:
    """Check what a request of the new dialect says of itself. Raises McpError."""
    meta = message.params["_meta"]
    if CAPABILITIES_KEY not in meta or not isinstance(meta[VERSION_KEY], str):
        raise McpError(INVALID_PARAMS, f"params._meta must have '{VERSION_KEY}' and '{CAPABILITIES_KEY}'")
    if meta[VERSION_KEY] != MODERN:
        data = {"supported": [MODERN], "requested": meta[VERSION_KEY]}
        raise McpError(UNSUPPORTED_VERSION, "Unsupported protocol version", data)


def header_values(message: Message) -> dict[str, Any]:
    """Return what the HTTP headers of a request in the new dialect repeat of its body, by header."""
    values = {"mcp-protocol-version": message.params["_meta"][VERSION_KEY], "mcp-method": message.method}
    if (named := message.params.get(_NAMED_BY.get(message.method, ""))) is not None:
        values["mcp-name"] = named
    return values


def http_headers(message: Message) -> dict[str, str]:
    """Return the HTTP headers of a request; none in the old dialect."""
    values = header_values(message) if message.is_modern else {}
    return {name: _encoded(value) for name, value in values.items() if isinstance(value, str)}


def _encoded(value: str) -> str:
    if _PLAIN.fullmatch(value) and not value.startswith(_BASE64):
        return value
    return f"{_BASE64}{base64.b64encode(value.encode()).decode()}?="


def decoded_header(value: str) -> str | None:
    """Return the text of a header, which is base64 between `=?base64?` and `?=` if it is not plain ASCII.

    White space around it does not count (RFC 9110, section 5.5). None stands for broken base64.
    """
    value = value.strip(" \t")
    if not (value.startswith(_BASE64) and value.endswith("?=") and len(value) > len(_BASE64)):
        return value
    try:
        return base64.b64decode(value[len(_BASE64) : -2], validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return None


def response(message: Message, result: dict[str, Any]) -> dict[str, Any]:
    """Return the response with a result, in the dialect of the request."""
    if message.is_modern:
        meta = {**result.get("_meta", {}), _SERVER_KEY: SERVER}
        result = {**result, "resultType": "complete", "_meta": meta}
        if message.method in _KEPT_METHODS:
            result |= {"ttlMs": _KEPT_MILLISECONDS, "cacheScope": "private"}
    return {"jsonrpc": "2.0", "id": message.id, "result": result}


def encoded(message: Message, result: dict[str, Any]) -> bytes:
    """Return the response with a result as one line of JSON."""
    return msgspec.json.encode(response(message, result))


def refused(error: RegistryError) -> McpError:
    """Return a refusal of the service as an error of the protocol. `data` has its code and the broken rules."""
    data: dict[str, Any] = {"code": error.code}
    if error.details:
        data["details"] = [{"field": each.field, "message": redact_text(each.message)} for each in error.details]
    return McpError(INTERNAL_ERROR if error.status >= 500 else INVALID_REQUEST, redact_text(error.message), data)


def failure(body: bytes, error: Exception) -> bytes | None:
    """Return the response to a message that has met an error, as one line of JSON; None for a notification.

    What is no McpError is an internal error, in its words.
    """
    try:
        identifier = parse(body).id
    except McpError as unreadable:
        return msgspec.json.encode(error_response(UNSET, unreadable))
    if identifier is UNSET:
        return None
    told = error if isinstance(error, McpError) else McpError(INTERNAL_ERROR, str(error))
    return msgspec.json.encode(error_response(identifier, told))


def error_response(identifier: int | str | None | UnsetType, error: McpError) -> dict[str, Any]:
    """Return the response with an error."""
    body: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.data is not UNSET:
        body["data"] = error.data
    return {"jsonrpc": "2.0", "id": None if identifier is UNSET else identifier, "error": body}
