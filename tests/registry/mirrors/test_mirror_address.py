"""A developer who was given the address of a mirror, or of the service that has it."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from support.mirrors import MirrorService, Upstream
from support.parties import Developer
from support.waiting import wait_until


class Service(NamedTuple):
    """A service with a mirror, at its own address."""

    mirror: MirrorService

    @property
    def address(self) -> str:
        """The URL of the service."""
        return self.mirror.url


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("addresses")
    with Upstream(folder / "upstream") as upstream, MirrorService(folder / "mirror", upstream) as mirror:
        upstream.release("tea")
        mirror.follow(upstream)
        reader = mirror.caller("reader", "user")
        wait_until(lambda: mirror.api("GET", "/skills/corp/acme.tea", headers=reader).status_code == 200)
        yield Service(mirror)


def test_commands_for_a_service_name_it_where_they_are_given_a_mirror(service: Service, tmp_path: Path) -> None:
    developer = Developer(tmp_path, service.mirror, service.mirror.new_key())
    for command in (("search", "tea"), ("list",), ("show", "acme/tea"), ("status",)):
        done = developer.run(*command)
        assert (done.code, f"--server {service.address}\n" in done.error) == (1, True), done.error
    other = Developer(tmp_path / "other", service.mirror, None)
    for how in (("--api-key",), ("--username", "ann", "--password-stdin"), ("--web",)):
        done = other.run("login", "--server", service.mirror.address, *how, stdin=service.mirror.new_key())
        assert (done.code, f"--server {service.address}\n" in done.error) == (1, True), done.error


def test_the_key_of_a_mirror_is_for_its_service_too(service: Service, tmp_path: Path) -> None:
    developer = Developer(tmp_path, service.mirror, service.mirror.new_key())
    found = developer.run("search", "tea", "--server", service.address)
    assert (found.code, "corp/acme.tea" in found.out) == (0, True), found.error


def test_what_a_service_lists_of_a_mirrored_registry_is_installed_by_the_id_it_has_there(
    service: Service, tmp_path: Path
) -> None:
    key = service.mirror.new_key()
    for place, at in (("service", service), ("mirror", service.mirror)):
        developer = Developer(tmp_path / place, at, key)
        done = developer.run("install", "corp/acme.tea@^1")
        assert done.code == 0, done.error
        assert developer.lock()["origin"]["url"] == service.mirror.address
        assert developer.dependencies()["tea"]["origin"]["url"] == service.mirror.address
        assert developer.run("verify", "--log").code == 0
        assert developer.run("upgrade").code == 0
    named = Developer(tmp_path / "named", service, key)
    assert named.run("install", "corp/acme.tea", "--from", service.address).code == 0
    assert named.lock()["origin"]["url"] == service.mirror.address
    unknown = Developer(tmp_path / "unknown", service, key).run("install", "other/acme.tea")
    assert (unknown.code, "acme/tea" in unknown.error) == (1, True), unknown.error


def test_an_agent_is_told_the_address_of_the_mirror(service: Service) -> None:
    call = {"name": "get_skill", "arguments": {"id": "corp/acme.tea"}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    answer = service.mirror.http.post("/mcp", json=body, headers=service.mirror.caller("reader", "user")).json()
    text = answer["result"]["content"][0]["text"]
    assert f"`skill-registry install acme/tea --from {service.mirror.address}`" in text, text
