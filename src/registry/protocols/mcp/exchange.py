"""One message in, one response out, without HTTP."""

from functools import partial

from msgspec import UNSET

from registry.db import DatabaseError
from registry.errors import RegistryError
from registry.protocols.mcp.caller import OVER_STANDARD_INPUT
from registry.protocols.mcp.messages import McpError, check_version, each_answered, failure, parse
from registry.protocols.mcp.methods import answer
from registry.services.container import Services


def answered(services: Services, body: bytes) -> bytes | None:
    """Return the response to a message, or to each of a batch, as one line of JSON; None for notifications."""
    return each_answered(body, partial(_answered, services))


def _answered(services: Services, body: bytes) -> bytes | None:
    try:
        message = parse(body)
        if message.id is UNSET:
            return None
        if message.is_modern:
            check_version(message)
        return answer(services, message, OVER_STANDARD_INPUT)
    except (McpError, RegistryError, DatabaseError, OSError) as error:
        return failure(body, error)
