"""The parts of uvicorn and httptools that are not documented and that `registry.server` builds on.

A new release that renames one of them fails here, by name. Then look at what has changed, adapt, and raise the upper
bound of its version in pyproject.toml.
"""

import asyncio
import inspect

import httptools
import pytest
import uvicorn
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState


async def _app(scope: object, receive: object, send: object) -> None:
    """Do nothing."""


@pytest.fixture(scope="module")
def protocol() -> HttpToolsProtocol:
    config = uvicorn.Config(_app, log_config=None)
    loop = asyncio.new_event_loop()
    try:
        return HttpToolsProtocol(config, ServerState(), {}, loop)
    finally:
        loop.close()


@pytest.mark.parametrize(
    "name",
    [
        *("client", "cycle", "expect_100_continue", "flow", "headers", "loop", "parser", "pipeline", "scope"),
        *("server_state", "transport", "_start_asgi_task", "_unset_keepalive_if_required"),
        *("connection_made", "connection_lost", "pause_writing", "resume_writing", "shutdown"),
        *("on_message_begin", "on_url", "on_header", "on_headers_complete", "on_body", "on_message_complete"),
        "on_response_complete",
    ],
)
def test_the_protocol_has(protocol: HttpToolsProtocol, name: str) -> None:
    assert hasattr(protocol, name)


@pytest.mark.parametrize(
    "name", ["disconnected", "keep_alive", "message_event", "response_complete", "response_started"]
)
def test_a_cycle_has(name: str) -> None:
    assert f"self.{name} = " in inspect.getsource(RequestResponseCycle.__init__)


def test_the_others_have_what_is_used() -> None:
    assert {"pause_reading", "resume_reading"} <= set(vars(FlowControl))
    assert {"connections", "default_headers", "tasks"} <= set(vars(ServerState()))
    assert STATUS_LINE[431].startswith(b"HTTP/1.1 431 ")
    used = {"startup", "shutdown", "capture_signals", "handle_exit", "serve", "_wait_tasks_to_complete"}
    assert used <= set(vars(uvicorn.Server))


def test_the_queue_of_a_connection_holds_requests_that_have_not_begun() -> None:
    source = inspect.getsource(HttpToolsProtocol)
    assert "self.pipeline.appendleft(" in source
    assert "self.pipeline.pop(" in source


def test_the_parser_tells_where_another_protocol_begins() -> None:
    class Heads:
        """Notices nothing."""

    parser = httptools.HttpRequestParser(Heads())
    parser.set_dangerous_leniencies(lenient_data_after_close=True)
    head = b"GET / HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n"
    with pytest.raises(httptools.HttpParserUpgrade) as raised:
        parser.feed_data(head + b"rest")
    assert raised.value.args[0] == len(head)
    assert parser.should_upgrade()
