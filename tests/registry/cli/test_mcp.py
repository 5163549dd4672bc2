"""`skill-registry mcp` as an agent starts it: the Python SDK over standard input and output."""

import asyncio
import json
import os
import subprocess
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import TextContent

from registry.runtime.data_dir import DataDirLock
from support.commands import WORDS_ONLY, Done
from support.publishing import Registry, skill_package
from support.servers import COMMAND, RunningServer, write_skill
from support.waiting import PATIENCE_SECONDS, wait_until


def talk(folder: Path, args: Sequence[str], mode: str, query: str, **env: str) -> tuple[list[str], list[str], str]:
    """Return the tools, the ids found, and the text of the first skill."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI", "SKILL_"))}
    whole = {**plain, "XDG_CONFIG_HOME": str(folder / "config"), **WORDS_ONLY, **env}

    async def use() -> tuple[list[str], list[str], str]:
        server = StdioServerParameters(command=COMMAND, args=["mcp", *args], env=whole, cwd=folder)
        async with Client(stdio_client(server), mode=mode) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            found = await client.call_tool("search_skills", {"query": query})
            ids = [skill["id"] for skill in found.structured_content["skills"]]
            read = await client.call_tool("get_skill", {"id": ids[0]})
            first = read.content[0]
            assert isinstance(first, TextContent)
            return tools, ids, first.text

    return asyncio.run(use())


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_an_agent_uses_the_catalog_of_a_data_directory(tmp_path: Path, mode: str) -> None:
    write_skill(tmp_path / "skills", "whittle", "Carves zebrawood spoons with great care.")
    assert Done(tmp_path, "scan").code == 0
    tools, ids, text = talk(tmp_path, (), mode, "zebrawood")
    assert (tools, ids) == (["search_skills", "get_skill", "install_skill"], ["whittle"])
    assert "zebrawood" in text
    assert talk(tmp_path, ("--read-only",), mode, "zebrawood")[0] == ["search_skills", "get_skill"]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_an_agent_uses_the_server_that_runs_on_the_data_directory(tmp_path: Path, mode: str) -> None:
    write_skill(tmp_path / "skills", "whittle", "Carves zebrawood spoons with great care.")
    with RunningServer(tmp_path) as server:
        _, ids, text = talk(tmp_path, ("--data-dir", str(server.data_dir)), mode, "zebrawood")
    assert ids == ["whittle"]
    assert "zebrawood" in text


def test_an_agent_uses_a_registry_with_a_credential(tmp_path: Path) -> None:
    with Registry(tmp_path) as registry:
        registry.finished(registry.publish(skill_package("planes", body="# Zebrawood\n")))
        key = {"SKILL_REGISTRY_CLIENT_API_KEY": registry.caller("reader", "user")["Authorization"].split()[1]}
        tools, ids, text = talk(tmp_path, ("--server", registry.url), "auto", "zebrawood", **key)
        assert (tools, ids) == (["search_skills", "get_skill"], ["acme/planes"])
        assert "Zebrawood" in text
        ask = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
        refused = Done(tmp_path, "mcp", "--server", registry.url, stdin=ask)
        assert refused.code == 0
        assert refused.json["error"]["code"] == -32603


def test_a_batch_and_a_large_message_are_answered_in_lines(tmp_path: Path) -> None:
    """Where nothing says the version, a batch is answered. A large message gets the reason of the server."""
    write_skill(tmp_path / "skills", "whittle", "Carves zebrawood spoons with great care.")
    ping = '{"jsonrpc":"2.0","id":%d,"method":"ping"}'
    batch = f'[{ping % 1},{{"jsonrpc":"2.0","method":"notifications/initialized"}},{ping % 2}]'
    large = json.dumps({"jsonrpc": "2.0", "id": 3, "method": "ping", "params": {"text": "x" * (1 << 20)}})
    with RunningServer(tmp_path) as server:
        local = Done(tmp_path, "mcp", "--data-dir", str(tmp_path / "other"), stdin=f"{batch}\n[]\n")
        relayed = Done(tmp_path, "mcp", "--server", server.url, stdin=f"{batch}\n{large}\n")
    pongs: list[Any] = [{"jsonrpc": "2.0", "id": number, "result": {}} for number in (1, 2)]
    both, empty = map(json.loads, local.out.splitlines())
    assert (both, empty["error"]["code"]) == (pongs, -32600)
    both, refused = map(json.loads, relayed.out.splitlines())
    assert (both, refused["id"]) == (pongs, 3)
    assert refused["error"]["message"] == "The body is larger than 1,048,576 bytes"


class Agent:
    """A process that an agent has started, and keeps."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def answer(self, line: bytes) -> Any:
        """Send a line, and return the answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def found(self, query: str) -> list[str]:
        """Return the ids that a search finds."""
        call = {"name": "search_skills", "arguments": {"query": query}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        result = self.answer(json.dumps(message).encode())["result"]
        return [skill["id"] for skill in result["structuredContent"]["skills"]]


@contextmanager
def agent(folder: Path, code: int = 0) -> Iterator[Agent]:
    """Start `skill-registry mcp` on the data directory and the skills directory in a folder. It ends with `code`."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI", "SKILL_"))}
    command = [COMMAND, "mcp", "--skills-dir", str(folder / "skills"), "--data-dir", str(folder / "data")]
    whole = {**plain, **WORDS_ONLY, "XDG_CONFIG_HOME": str(folder / "config")}
    with subprocess.Popen(command, env=whole, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield Agent(process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait() == code


def test_agents_commands_and_a_server_share_a_data_directory(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "whittle", "Carves zebrawood spoons with great care.")
    folders = ("--skills-dir", str(tmp_path / "skills"), "--data-dir", str(tmp_path / "data"))
    with agent(tmp_path) as one, agent(tmp_path) as other:
        assert one.found("zebrawood") == other.found("zebrawood") == one.found("spoons") == ["whittle"]
        assert [
            hit["skill"]["id"] for hit in Done(tmp_path, "search", "zebrawood", "--json", *folders).json["skills"]
        ] == ["whittle"]
        with RunningServer(tmp_path) as server:
            assert server.http.get("/api/v1/status").json()["data"]["skills"] == 1
            assert one.found("zebrawood") == other.found("zebrawood") == ["whittle"]
        assert one.found("zebrawood") == other.found("zebrawood") == ["whittle"]


def test_an_agent_that_never_pauses_lets_others_in(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "whittle", "Carves zebrawood spoons with great care.")
    with agent(tmp_path) as busy, agent(tmp_path) as other:
        has_answer = threading.Event()

        def ask() -> None:
            while not has_answer.is_set():
                assert busy.found("zebrawood") == ["whittle"]

        with ThreadPoolExecutor(1) as pool:
            asking = pool.submit(ask)
            assert other.found("spoons") == ["whittle"]
            has_answer.set()
            asking.result()


def test_an_agent_is_told_that_a_command_keeps_the_data_directory(tmp_path: Path) -> None:
    ping = b'{"jsonrpc":"2.0","id":7,"method":"ping"}'
    with agent(tmp_path) as one:
        assert one.answer(ping) == {"jsonrpc": "2.0", "id": 7, "result": {}}
        lock = DataDirLock.wait(tmp_path / "data", PATIENCE_SECONDS)
        refused = one.answer(ping)
        assert (refused["id"], "stop it" in refused["error"]["message"]) == (7, True)
        lock.release()
        assert one.answer(ping) == {"jsonrpc": "2.0", "id": 7, "result": {}}


def test_an_agent_is_told_that_the_database_is_broken(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "whittle", "Carves zebrawood spoons with great care.")
    with agent(tmp_path) as one:
        assert one.found("zebrawood") == ["whittle"]
        for name in ("skill-registry.db", "skill-registry.db-wal"):
            file = tmp_path / "data" / name
            file.write_bytes(b"x" * file.stat().st_size)
        call = {"name": "get_skill", "arguments": {"id": "whittle"}}
        refused = one.answer(json.dumps({"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": call}).encode())
        assert (refused["id"], refused["error"]["code"]) == (8, -32603)


def test_an_agent_that_goes_leaves_the_catalog(tmp_path: Path) -> None:
    with agent(tmp_path, code=1) as one:
        assert one.answer(b'{"jsonrpc":"2.0","id":"a","method":"\xff"}')["error"]["code"] == -32700
        assert one.process.stdout is not None
        one.process.stdout.close()
        one.process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')  # type: ignore[union-attr]
    assert (tmp_path / "data" / "skill-registry.db").exists()


def test_a_command_that_cannot_start_ends_while_its_input_is_open(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    with agent(tmp_path, code=1) as one:
        assert one.process.wait() == 1


def test_an_agent_finds_a_skill_that_is_new_in_the_folder(tmp_path: Path) -> None:
    with agent(tmp_path) as one:
        assert one.found("zebrawood") == []
        write_skill(tmp_path / "skills", "whittle", "Carves zebrawood spoons with great care.")
        wait_until(lambda: one.found("zebrawood") == ["whittle"])


def test_what_is_no_message_gets_an_error_and_the_next_one_an_answer(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "whittle", "Carves spoons with great care.")
    assert Done(tmp_path, "scan").code == 0
    done = Done(tmp_path, "mcp", stdin='{\n\n[]\n{"jsonrpc":"2.0","id":"a","method":"ping"}\n')
    assert done.code == 0, done.error
    assert done.out.splitlines()[-1] == '{"jsonrpc":"2.0","id":"a","result":{}}'
    assert [line.count("-32700") + line.count("-32600") for line in done.out.splitlines()] == [1, 1, 0]
