"""A service in the network of a company: only a proxy with a password leads outside, and it resolves the names."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.authority import Authority
from support.commands import Done
from support.embedding_server import EmbeddingServer
from support.forward_proxy import ForwardProxy
from support.git_server import GitServer
from support.install_world import skill_md
from support.servers import RunningServer, write_skill
from support.web_server import WebServer, reply
from support.zips import plain_zip

LOGIN = "zoe:canary"


@pytest.fixture
def company(hub: GitServer) -> Iterator[ForwardProxy]:
    embeddings = EmbeddingServer()
    hub.repository("skills").commit({"kettle/SKILL.md": skill_md("kettle"), "pot/SKILL.md": skill_md("pot")})
    with WebServer({"/spoon.zip": reply(plain_zip({"SKILL.md": skill_md("spoon").encode()}))}) as web:
        ports = {"git.corp": hub.port, "web.corp": web.port, "ai.corp": int(embeddings.url.split(":")[2].split("/")[0])}
        with ForwardProxy(ports, LOGIN) as proxy:
            yield proxy
    embeddings.close()


def test_everything_goes_through_the_proxy_and_nothing_shows_its_password(
    company: ForwardProxy, tmp_path: Path
) -> None:
    env = {
        "HTTP_PROXY": company.url(LOGIN),
        "SKILL_REGISTRY_EMBEDDING_BASE_URL": "http://ai.corp/v1",
        "SKILL_REGISTRY_EMBEDDING_API_KEY": "sk-x",
    }
    with RunningServer(tmp_path, "--embedding-provider", "hosted", env=env) as server:
        source = {"name": "hub", "type": "git", "url": "http://git.corp/skills/.git"}
        added = server.api("POST", "/registry/sources", json=source)
        assert (added.status_code, added.json()["data"]["skills"]) == (201, 2)
        assert server.api("POST", "/skills", json={"skill_id": "kettle", "source_name": "hub"}).status_code == 201
        origin = {"type": "http", "url": "http://web.corp/spoon.zip"}
        assert server.api("POST", "/skills", json={"origin": origin}).status_code == 201
        server.wait_for(lambda: server.is_embedded(2))
        company.login = "zoe:other"
        refused = server.api("POST", "/skills", json={"origin": {"type": "git", "url": source["url"], "subdir": "pot"}})
        assert refused.status_code == 400
        assert "the proxy refuses it (407)" in refused.text
        server.api("POST", "/registry/refresh")
        shown = json.dumps([server.status(), server.api("GET", "/registry/sources").json()])
    log = server.log.read_text()
    assert f"outgoing requests go through http://***@{company.host}" in log
    assert "canary" not in log + refused.text + shown
    hosts = {target.split("/")[2] for _, target in company.targets}
    assert hosts == {"git.corp", "web.corp", "ai.corp"}


def test_the_command_uses_the_proxy_too(company: ForwardProxy, tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "spoon", "Carves spoons.")
    proxy = {"SKILL_REGISTRY_OUTBOUND_PROXY": company.url(LOGIN)}
    origin = "http://git.corp/skills/.git"
    assert Done(tmp_path, "sources", "add", "hub", origin, "--type", "git", **proxy).code == 0
    assert Done(tmp_path, "install", "hub/kettle", **proxy).code == 0
    assert (tmp_path / "skills/kettle/SKILL.md").is_file()
    company.login = "zoe:other"
    refused = Done(tmp_path, "install", "hub/pot", **proxy)
    said = refused.out + refused.error
    assert (refused.code, "canary" in said, "the proxy refuses it (407)" in said) == (1, False, True)


def test_the_command_reaches_a_server_through_the_proxy_and_trusts_the_authority(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "authority")
    with (
        WebServer({"/api/v1/status": reply(b"{}", 418)}) as web,
        ForwardProxy({"registry.corp:443": web.port}) as proxy,
    ):
        authority.secure(web.server, "registry.corp")
        named = {"SKILL_REGISTRY_OUTBOUND_PROXY": proxy.url(LOGIN)}
        server = ("--server", "https://registry.corp")
        assert "certificate" in Done(tmp_path, "status", *server, **named).error
        trusting = named | {"SKILL_REGISTRY_OUTBOUND_CA_FILE": str(authority.certificate)}
        assert "418" in Done(tmp_path, "status", *server, **trusting).error
        from_environment = {"HTTPS_PROXY": proxy.url(LOGIN), "SSL_CERT_FILE": str(authority.certificate)}
        assert "418" in Done(tmp_path, "status", *server, **from_environment).error
    assert proxy.targets == [("CONNECT", "registry.corp:443")] * 3
