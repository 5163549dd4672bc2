"""The methods of the protocol, whatever carries the messages."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from registry.protocols.mcp.caller import Caller
from registry.protocols.mcp.messages import (
    HANDSHAKE,
    INITIALIZE,
    METHOD_NOT_FOUND,
    MODERN,
    SERVER,
    McpError,
    Message,
    encoded,
)
from registry.protocols.mcp.resources import get_skill_entry, list_resources, list_skill_entries, read_resource
from registry.protocols.mcp.tools import call_tool, list_tools
from registry.services.container import Services

SKILLS_EXTENSION = "io.modelcontextprotocol/skills"

_CAPABILITIES: dict[str, Any] = {"tools": {}, "resources": {}, "extensions": {SKILLS_EXTENSION: {}}}
_INSTRUCTIONS = (
    "This registry has skills: instructions and files for kinds of tasks. Call search_skills before a task that "
    "others may have done before, and read the best skill with get_skill. If none fits, do the task without one."
)

Method = Callable[[Services, dict[str, Any]], dict[str, Any]]


def _initialize(services: Services, params: dict[str, Any]) -> dict[str, Any]:
    version = params.get("protocolVersion")
    return {
        "protocolVersion": version if version in HANDSHAKE else HANDSHAKE[0],
        "capabilities": _CAPABILITIES,
        "serverInfo": SERVER,
        "instructions": _INSTRUCTIONS,
    }


def _discover(services: Services, params: dict[str, Any]) -> dict[str, Any]:
    return {"supportedVersions": [MODERN], "capabilities": _CAPABILITIES, "instructions": _INSTRUCTIONS}


def _nothing(services: Services, params: dict[str, Any]) -> dict[str, Any]:
    return {}


def _no_prompts(services: Services, params: dict[str, Any]) -> dict[str, Any]:
    return {"prompts": []}  # some clients ask although the capabilities have none


def _no_templates(services: Services, params: dict[str, Any]) -> dict[str, Any]:
    return {"resourceTemplates": []}


_OF_BOTH: Mapping[str, Method] = MappingProxyType(
    {
        "tools/list": list_tools,
        "prompts/list": _no_prompts,
        "resources/list": list_resources,
        "resources/templates/list": _no_templates,
        "resources/read": read_resource,
        "skills/list": list_skill_entries,
        "skills/get": get_skill_entry,
    }
)
_OF_HANDSHAKE: Mapping[str, Method] = MappingProxyType({INITIALIZE: _initialize, "ping": _nothing, **_OF_BOTH})
_OF_MODERN: Mapping[str, Method] = MappingProxyType({"server/discover": _discover, **_OF_BOTH})


def answer(services: Services, message: Message, caller: Caller) -> bytes:
    """Return the response to a request as one line of JSON. Raises McpError, SERVICE_UNAVAILABLE."""
    return encoded(message, _call(services, message, caller))


def _call(services: Services, message: Message, caller: Caller) -> dict[str, Any]:
    if message.method == "tools/call":
        return call_tool(services, message.params, caller)
    method = (_OF_MODERN if message.is_modern else _OF_HANDSHAKE).get(message.method)
    if method is None:
        raise McpError(METHOD_NOT_FOUND, "Method not found", message.method)
    return method(services, message.params)
