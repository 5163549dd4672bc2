"""The Model Context Protocol: tools that find, read and install skills, and the skills extension."""

from registry.protocols.mcp.route import MCP

__all__ = ["MCP"]
