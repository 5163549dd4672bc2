"""Relays messages of the Model Context Protocol to a server. An agent gets one line of JSON for each, and no other."""

from functools import partial
from typing import Any, Literal

import msgspec

from registry.cli.backend import CommandFailed
from registry.cli.remote.answers import WrongShape, checked, read_answer
from registry.cli.remote.client import RegistryClient
from registry.protocols.mcp.messages import McpError, each_answered, failure, http_headers, parse


class _Fault(msgspec.Struct):
    code: int
    message: str


class _Response(msgspec.Struct, omit_defaults=True):
    """A response. The protocol allows either a result or an error."""

    jsonrpc: Literal["2.0"]
    id: int | str | None
    result: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    error: _Fault | msgspec.UnsetType = msgspec.UNSET


def relayed(client: RegistryClient, body: bytes) -> bytes | None:
    """Return the server's response to a message, or to each of a batch, as one line of JSON; None for notifications.

    What is no response to a message becomes an error of JSON-RPC.
    """
    return each_answered(body, partial(_relayed, client))


def _relayed(client: RegistryClient, message: bytes) -> bytes | None:
    try:
        request = parse(message)
        content = client.relay("/mcp", message, http_headers(request))
        if request.id is msgspec.UNSET:
            return None
        return msgspec.json.encode(_response(content, request.id))
    except WrongShape:
        return failure(message, CommandFailed(f"{client.base} does not answer as an MCP server: is the URL right?"))
    except (McpError, CommandFailed) as error:
        return failure(message, error)


def _response(content: bytes, identifier: int | str) -> Any:
    """Return a response to the request with an identifier. Raises WrongShape for anything else."""
    answer = read_answer(content)
    response = msgspec.convert(checked(answer, _Response), _Response)
    is_error = response.error is not msgspec.UNSET
    is_of_request = response.id == identifier or (is_error and response.id is None)
    if not is_of_request or is_error == (response.result is not msgspec.UNSET):
        raise WrongShape
    return {**answer, "id": identifier}
