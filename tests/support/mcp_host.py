"""A service as an agent uses it: with the Python SDK of the Model Context Protocol, or with requests of its own."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import httpx2
import mcp_types
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from support.servers import RunningServer

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Host:
    """A service with the skill `whittle` and a record, and a credential that may read."""

    def __init__(self, server: RunningServer, skill_id: str, headers: dict[str, str]) -> None:
        self.server = server
        self.skill_id = skill_id
        self.headers = headers

    def run(self, mode: str, use: Callable[[Client], Awaitable[Any]]) -> Any:
        async def connected() -> Any:
            async with httpx2.AsyncClient(headers=self.headers, trust_env=False) as http:
                transport = streamable_http_client(f"{self.server.url}/mcp", http_client=http)
                async with Client(transport, mode=mode) as client:
                    return await use(client)

        return asyncio.run(connected())

    def call(self, tool: str, mode: str = "auto", **arguments: Any) -> mcp_types.CallToolResult:
        result: mcp_types.CallToolResult = self.run(mode, lambda client: client.call_tool(tool, arguments))
        return result

    def text(self, tool: str, **arguments: Any) -> str:
        result = self.call(tool, **arguments)
        assert not result.is_error, result
        return str(result.content[0].text)  # type: ignore[union-attr]

    def post(self, body: Any, **headers: str) -> httpx.Response:
        content = {"content": body} if isinstance(body, bytes) else {"json": body}
        sent = {**self.headers, "Content-Type": "application/json", **headers}
        return self.server.http.post("/mcp", headers=sent, **content)

    def ask(self, method: str, **params: Any) -> Any:
        """Send a request of the new dialect as its clients do."""
        headers = {"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method}
        if named := params.get("name") or (params.get("uri") if method == "resources/read" else None):
            headers["Mcp-Name"] = named
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
        return self.post(body, **headers).json()
