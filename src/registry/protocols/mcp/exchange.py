"""One message in, one response out, without HTTP."""

import msgspec
from msgspec import UNSET, UnsetType

from registry.errors import RegistryError
from registry.protocols.mcp.messages import INTERNAL_ERROR, McpError, check_version, error_response, parse, response
from registry.protocols.mcp.methods import call
from registry.services.container import Services


def answered(services: Services, body: bytes) -> bytes | None:
    """Return the response to a message as one line of JSON, None for a notification."""
    identifier: int | str | UnsetType = UNSET
    try:
        message = parse(body)
        identifier = message.id
        if identifier is UNSET:
            return None
        if message.is_modern:
            check_version(message)
        return msgspec.json.encode(response(message, call(services, message)))
    except McpError as error:
        return msgspec.json.encode(error_response(identifier, error))
    except RegistryError as error:
        return msgspec.json.encode(error_response(identifier, McpError(INTERNAL_ERROR, error.message)))
