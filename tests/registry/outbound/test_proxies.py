"""Networks of companies: proxies, and authorities of their own, for the HTTP client and for git."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from registry.domain.origins import GitOrigin
from registry.outbound import AddressPolicy, Authorities, OutboundClient, OutboundError, parse_url
from registry.outbound.git import Git
from registry.outbound.git_access import GitAccess
from registry.outbound.proxies import Proxies
from support.authority import Authority
from support.forward_proxy import ForwardProxy
from support.git_server import GitServer
from support.web_server import WebServer, reply

LOGIN = "zoe:p%40ss"


@pytest.fixture
def web() -> Iterator[WebServer]:
    with WebServer({"/": reply(b"page")}) as server:
        yield server


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "authority")


def through(proxy: ForwardProxy, login: str = "", authorities: Authorities | None = None) -> OutboundClient:
    return OutboundClient(AddressPolicy(), authorities, Proxies(proxy.url(login), proxy.url(login)))


def refusal(fetch: Callable[[], object]) -> str:
    with pytest.raises(OutboundError) as error:
        fetch()
    assert "zoe" not in str(error.value)
    assert "p%40ss" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(
    ("entry", "url", "is_direct"),
    [
        ("example.org", "http://example.org/", True),
        ("example.org", "http://git.Example.org/", True),
        (".example.org", "http://git.example.org/", True),
        (".example.org", "http://example.org/", True),
        ("*.example.org", "http://git.example.org/", True),
        ("example.org", "http://badexample.org/", False),
        ("EXAMPLE.org", "http://example.org/", True),
        ("example.org:8080", "http://example.org:8080/", True),
        ("example.org:8080", "http://example.org/", False),
        ("*", "http://example.org/", True),
        ("*", "http://192.0.2.1/", True),
        ("192.0.2.0/24", "http://192.0.2.1/", True),
        ("192.0.2.0/24", "http://198.51.100.1/", False),
        ("192.0.2.1", "http://192.0.2.1/", True),
        ("192.0.2.1:443", "https://192.0.2.1/", True),
        ("192.0.2.1:443", "http://192.0.2.1/", False),
        ("2001:db8::/32", "http://[2001:db8::1]/", True),
        ("[2001:db8::1]", "http://[2001:db8::1]/", True),
        ("[2001:db8::1]:443", "http://[2001:db8::1]/", False),
        ("1", "http://192.0.2.1/", False),
        ("", "http://example.org/", False),
        ("none", "http://localhost:8080/", True),
        ("none", "http://127.0.0.1/", True),
        ("none", "http://[::1]/", True),
        ("none", "http://a.localhost/", True),
    ],
)
def test_no_proxy_names_hosts_domains_addresses_and_networks(entry: str, url: str, is_direct: bool) -> None:
    proxy = "http://proxy.example:3128"
    assert (Proxies(proxy, proxy, [entry]).of(parse_url(url)) is None) == is_direct


def test_each_scheme_has_its_proxy_and_one_without_a_scheme_is_http() -> None:
    proxies = Proxies(None, "ann:secret@proxy.example:3128")
    proxy = proxies.of(parse_url("https://example.org/"))
    assert proxy is not None
    assert (proxy.origin, proxy.credentials) == (("http", "proxy.example", 3128), ("ann", "secret"))
    assert proxies.of(parse_url("http://example.org/")) is None
    assert proxies.names() == ["http://***@proxy.example:3128"]
    with pytest.raises(OutboundError, match=r"socks5://\*\*\*@proxy.example:1080 cannot be used: only http"):
        Proxies("socks5://ann:secret@proxy.example:1080").of(parse_url("http://example.org/"))


def test_http_goes_through_the_proxy_which_resolves_the_name(web: WebServer) -> None:
    with ForwardProxy({"page.corp": web.port}, "zoe:p@ss") as proxy:
        assert through(proxy, LOGIN).get("http://page.corp/", limit=10, seconds=10).body == b"page"
        assert through(proxy, LOGIN).post("http://page.corp/hook", b"x", {}, seconds=10) == 404
    assert proxy.targets == [("GET", "http://page.corp/"), ("POST", "http://page.corp/hook")]
    assert not any("Proxy-Authorization" in headers for _, headers in web.requests)


def test_https_goes_through_a_tunnel_that_sees_no_credential(web: WebServer, authority: Authority) -> None:
    authority.secure(web.server, "page.corp")
    authorities = Authorities(authority.certificate)
    with ForwardProxy({"page.corp:443": web.port}) as proxy:
        url = "https://bob:canary@page.corp/"
        assert through(proxy, "", authorities).get(url, limit=10, seconds=10).body == b"page"
        assert "certificate" in refusal(lambda: through(proxy).get(url, limit=10, seconds=10))
    assert proxy.targets == [("CONNECT", "page.corp:443")] * 2
    assert "Authorization" not in proxy.requests[0].headers
    assert web.requests[0][1]["Authorization"].startswith("Basic ")


def test_a_proxy_that_refuses_is_named(web: WebServer) -> None:
    with ForwardProxy({"page.corp": web.port}, "zoe:other") as proxy:
        for url in ("http://page.corp/", "https://page.corp/"):
            said = refusal(lambda url=url: through(proxy, LOGIN).get(url, limit=10, seconds=10))  # type: ignore[misc]
            assert f"(through the proxy {proxy.host})" in said
            assert "the proxy refuses it (407" in said
        proxy.login = ""
        said = refusal(lambda: through(proxy, LOGIN).get("https://elsewhere.corp/", limit=10, seconds=10))
        assert "the proxy refuses it (403" in said
    said = refusal(lambda: through(proxy, LOGIN).get("http://page.corp/", limit=10, seconds=10))
    assert f"(through the proxy {proxy.host}) cannot be read" in said


def test_addresses_in_urls_and_this_machine_are_checked_behind_a_proxy_too(web: WebServer) -> None:
    with ForwardProxy({"169.254.169.254": web.port, "localhost": web.port}) as proxy:
        for url in ("http://169.254.169.254/", "http://10.0.0.1/", "http://localhost/", web.url, "http://[::1]/"):
            assert "not on the public network" in refusal(
                lambda url=url: through(proxy).get(url, limit=10, seconds=10)  # type: ignore[misc]
            )
            with pytest.raises(OutboundError, match="not on the public network"):
                git_through(proxy).latest(GitOrigin(url=url))
    assert (proxy.requests, web.connections) == ([], 0)


def git_through(proxy: ForwardProxy, login: str = "", authorities: Authorities | None = None) -> Git:
    proxies = Proxies(proxy.url(login), proxy.url(login))
    return Git(AddressPolicy(), access=GitAccess(proxies, authorities), outbound=through(proxy, login, authorities))


def test_git_goes_through_the_proxy(hub: GitServer, tmp_path: Path) -> None:
    commit = hub.repository("skills").commit({"pdf/SKILL.md": "first"})
    origin = GitOrigin(url="http://git.corp/skills/.git")
    with ForwardProxy({"git.corp": hub.port}, "zoe:p@ss") as proxy:
        assert git_through(proxy, LOGIN).fetch(origin, tmp_path / "out").commit == commit
        assert proxy.targets[0] == ("GET", "http://git.corp/skills/.git/info/refs?service=git-upload-pack")
        proxy.login = "zoe:other"
        said = refusal(lambda: git_through(proxy, LOGIN).latest(origin))
        assert f"(through the proxy {proxy.host}) cannot be read: the proxy refuses it (407)" in said
        proxy.login = ""
        elsewhere = GitOrigin(url="https://elsewhere.corp/skills")
        assert "the proxy refuses it (403)" in refusal(lambda: git_through(proxy, LOGIN).latest(elsewhere))


def test_git_goes_through_a_tunnel_that_sees_no_credential(
    hub: GitServer, authority: Authority, tmp_path: Path
) -> None:
    commit = hub.repository("skills").commit({"pdf/SKILL.md": "first"})
    authority.secure(hub.server, "git.corp")
    origin = GitOrigin(url="https://bob:canary@git.corp/skills/.git")
    with ForwardProxy({"git.corp:443": hub.port}, "zoe:p@ss") as proxy:
        git = git_through(proxy, LOGIN, Authorities(authority.certificate))
        assert git.fetch(origin, tmp_path / "out").commit == commit
        assert {(request.method, request.target) for request in proxy.requests} == {("CONNECT", "git.corp:443")}
        assert not any("Authorization" in request.headers for request in proxy.requests)
        assert set(hub.authorizations) == {"Basic Ym9iOmNhbmFyeQ=="}
        said = refusal(lambda: git_through(proxy, LOGIN).latest(origin))
        assert "certificate" in said
        assert "canary" not in said
