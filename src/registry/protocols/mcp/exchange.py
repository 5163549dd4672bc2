"""One message in, one response out, without HTTP."""

from msgspec import UNSET

from registry.db import DatabaseError
from registry.errors import RegistryError
from registry.protocols.mcp.caller import OVER_STANDARD_INPUT
from registry.protocols.mcp.messages import McpError, check_version, failure, parse
from registry.protocols.mcp.methods import answer
from registry.services.container import Services


def answered(services: Services, body: bytes) -> bytes | None:
    """Return the response to a message as one line of JSON, None for a notification."""
    try:
        message = parse(body)
        if message.id is UNSET:
            return None
        if message.is_modern:
            check_version(message)
        return answer(services, message, OVER_STANDARD_INPUT)
    except (McpError, RegistryError, DatabaseError, OSError) as error:
        return failure(body, error)
