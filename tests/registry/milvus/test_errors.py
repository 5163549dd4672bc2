"""What a user reads who has set up Milvus wrongly."""

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from registry.config.groups import SearchSettings
from registry.config.types import Secret, ServerUrl
from registry.milvus.connection import MilvusConnection
from search.vectors.base import VectorsUnavailable
from support.commands import Done
from support.milvus_server import MilvusServer
from support.servers import RunningServer, write_skill
from support.waiting import wait_until
from support.web_server import WebServer

pytestmark = pytest.mark.outside


class Refusing(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc has no types
    """Answers every call with one status, as the proxy of Milvus does before it looks at the call."""

    def __init__(self, code: grpc.StatusCode, details: str) -> None:
        self._answer = (code, details)

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        return grpc.unary_unary_rpc_method_handler(lambda request, context: context.abort(*self._answer))


@contextmanager
def grpc_server(*handlers: grpc.GenericRpcHandler) -> Iterator[str]:
    server = grpc.server(ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers(handlers)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.stop(None)


def problem(uri: str, **settings: Any) -> str:
    """Return the problem of a first call."""
    values = {"milvus_seconds": 2.0, "milvus_token": Secret("skills:wrong"), **settings}
    connection = MilvusConnection(SearchSettings(vectors="milvus", milvus_uri=ServerUrl(uri), **values))
    with pytest.raises(VectorsUnavailable) as refusal:
        connection.call("query", "skills_x", ids=[1])
    with pytest.raises(VectorsUnavailable) as again:  # at once, without a call
        connection.call("query", "skills_x", ids=[1])
    assert str(again.value) == str(refusal.value)
    assert connection.totals()["query"].calls == 1
    connection.close()
    assert "wrong" not in str(refusal.value)
    return str(refusal.value)


def test_nobody_listens() -> None:
    told = problem("http://127.0.0.1:9")
    assert told.startswith("Milvus at http://127.0.0.1:9 cannot be reached (")
    assert "Connection refused" in told
    assert "cannot be reached" in problem("http://nowhere.invalid")


def test_nobody_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        uri = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert problem(uri, milvus_seconds=0.5) == f"Milvus at {uri} did not answer within 0.5 s"


def test_it_speaks_http() -> None:
    with WebServer() as web:
        assert "cannot be reached" in problem(web.url)
        assert "cannot be reached" in problem(web.url.replace("http", "https"))


def test_it_is_another_service() -> None:
    with grpc_server() as uri:
        assert problem(uri) == f"{uri} is no Milvus, or one of another release: set search.milvus_uri"


def test_the_token_is_wrong() -> None:
    refusing = Refusing(grpc.StatusCode.UNAUTHENTICATED, "auth check failure, please check api key is correct")
    with grpc_server(refusing) as uri:
        assert problem(uri) == f"Milvus at {uri} refuses the token: set search.milvus_token"


def test_the_user_may_not_do_this() -> None:
    refusing = Refusing(grpc.StatusCode.PERMISSION_DENIED, "PrivilegeQuery: permission deny to skills")
    with grpc_server(refusing) as uri:
        told = problem(uri)
    assert "give the user of search.milvus_token all rights to the collections whose names begin with skills_" in told
    assert "PrivilegeQuery: permission deny to skills" in told


def test_the_database_is_missing(milvus: MilvusServer) -> None:
    expected = f"Milvus at {milvus.uri} has no database 'nowhere': create it, or set search.milvus_database"
    assert problem(milvus.uri, milvus_database="nowhere") == expected


def test_the_service_tells_what_is_wrong(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "backup", "Save a folder to an encrypted archive.")
    refusing = Refusing(grpc.StatusCode.UNAUTHENTICATED, "auth check failure")
    with grpc_server(refusing) as uri:
        flags = ("--embedding-provider", "local", "--search-vectors", "milvus", "--search-milvus-uri", uri)
        with RunningServer(tmp_path, *flags) as server:
            wait_until(lambda: "refuses the token" in str(server.status()["embedding"]), why=server.status)
            assert server.found("encrypted archive") == ["backup"]
        assert "refuses the token: set search.milvus_token" in server.log.read_text()


@pytest.mark.parametrize("command", ["serve", "fsck"])
def test_the_extra_is_missing(tmp_path: Path, command: str) -> None:
    if command == "fsck":
        with RunningServer(tmp_path):
            pass
    missing = tmp_path / "missing"
    missing.mkdir()
    (missing / "pymilvus.py").write_text("raise ModuleNotFoundError('No module named pymilvus', name='pymilvus')")
    search = ("--search-vectors", "milvus", "--search-milvus-uri", "http://127.0.0.1:9")
    flags = ("--data-dir", str(tmp_path / "data"), *search)
    done = Done(tmp_path, command, *flags, PYTHONPATH=str(missing), SKILL_REGISTRY_EMBEDDING_PROVIDER="none")
    told = " ".join((done.out + done.error).split())
    assert "search.vectors = milvus needs the extra milvus: pip install 'skill-registry[milvus]'" in told
    assert (done.code != 0, "Traceback" in told) == (True, False)


@pytest.mark.parametrize("uri", ["localhost:19530", "tcp://milvus:19530", "./milvus.db", "http://root:secret@milvus"])
def test_the_uri_is_wrong(tmp_path: Path, uri: str) -> None:
    done = Done(tmp_path, "serve", "--search-vectors", "milvus", "--search-milvus-uri", uri)
    done.complains(2, "search.milvus_uri", "http")
    assert "secret" not in done.error


def test_the_uri_is_missing(tmp_path: Path) -> None:
    done = Done(tmp_path, "serve", "--search-vectors", "milvus")
    done.complains(2, "search.vectors = 'milvus' needs the address of Milvus: set search.milvus_uri")
