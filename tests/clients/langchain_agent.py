"""Run in the environment of langchain-mcp-adapters: prints what the tools and resources of a service give as JSON.

The arguments are the address, the headers as JSON, a query, the id of a skill and the address of a resource.
"""

import asyncio
import json
import sys

from langchain_mcp_adapters.client import MultiServerMCPClient


async def main(url: str, headers: str, query: str, skill_id: str, uri: str) -> None:
    connection = {"transport": "streamable_http", "url": url, "headers": json.loads(headers)}
    client = MultiServerMCPClient({"registry": connection})
    tools = {tool.name: tool for tool in await client.get_tools()}
    found = await tools["search_skills"].ainvoke({"query": query})
    read = await tools["get_skill"].ainvoke({"id": skill_id})
    (resource,) = await client.get_resources("registry", uris=[uri])
    results = {"tools": sorted(tools), "found": str(found), "read": str(read), "resource": resource.as_string()}
    sys.stdout.write(f"{json.dumps(results)}\n")


asyncio.run(main(*sys.argv[1:]))
