"""A service that mirrors a registry, both of them real: developers use the mirror, also while the registry is away."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from support.mirrors import MirrorService, Upstream
from support.parties import Developer
from support.waiting import wait_until


class Both(NamedTuple):
    """The registry, its mirror, and a developer who knows only the mirror."""

    upstream: Upstream
    mirror: MirrorService
    developer: Callable[[str], Developer]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    folder = tmp_path_factory.mktemp("mirrors")
    with Upstream(folder / "upstream") as upstream, MirrorService(folder / "mirror", upstream) as mirror:
        upstream.release("hello")
        mirror.follow(upstream)
        key = mirror.new_key()
        yield Both(upstream, mirror, lambda name: Developer(folder / name, mirror, key))


def installs(developer: Developer, skill_id: str, *words: str) -> None:
    """Install a skill, or fail with these words."""
    done = developer.run("install", skill_id, "--json")
    assert (done.code == 0) == (not words), done.out + done.error
    for word in words:
        assert word in done.out + done.error


@contextmanager
def away(both: Both) -> Iterator[None]:
    """Stop the registry for the block. After it, the mirror has read the log again: it would leave it alone a while."""
    both.upstream.stop()
    try:
        yield
    finally:
        both.upstream.start()
        admin = both.mirror.caller("root", "admin")
        wait_until(lambda: both.mirror.api("POST", "/registry/refresh", headers=admin).json()["data"]["errors"] == [])


def test_what_is_kept_is_installed_and_proven_while_the_registry_is_away(both: Both, tmp_path: Path) -> None:
    checksum = both.upstream.release("away")
    both.upstream.release("unkept")
    key = both.upstream.get("/api/v1/log/key").json()["data"]["key"]
    installs(both.developer("first"), "acme/away")
    developer = both.developer("second")
    cache = {"SKILL_REGISTRY_CACHE_BYTES": "100000000", "XDG_CACHE_HOME": str(tmp_path)}
    with away(both):
        assert developer.run("install", "acme/away", **cache).code == 0
        lock = developer.lock()
        assert (f"sha256:{lock['package']}", lock["log"]["key"]) == (checksum, key)
        assert lock["origin"]["url"] == both.mirror.address
        assert developer.run("verify", "--log", "--key", key).code == 0
        assert developer.run("audit").code == 0
        other = both.developer("third")
        other.copy_lock(developer)
        done = other.run("install", "--locked", "--offline", **cache)
        assert done.code == 0, done.out + done.error
        installs(other, "acme/unkept", "corp", "cannot answer")
        installs(other, "acme/never", "corp", "cannot answer", "has no acme/never")  # it may have been published since
    missing = both.mirror.get("/mirrors/corp/index/acme/never")
    assert missing.status_code == 404


def test_each_package_is_fetched_once(both: Both) -> None:
    both.upstream.release("once")
    for name in ("one", "two", "three"):
        installs(both.developer(f"once-{name}"), "acme/once")
    assert both.upstream.log.read_text().count("/packages/acme/once") == 1
    line = json.loads(both.mirror.get("/mirrors/corp/index/acme/once").text)
    assert line["download_url"] == f"{both.mirror.address}/packages/acme/once/1.0.0.zip"


@pytest.mark.parametrize("pattern", ["packages/*/*", "index/acme/changed-index", "log/*", "state.json"])
def test_a_changed_byte_of_what_is_kept_is_refused_and_fetched_again(both: Both, pattern: str) -> None:
    name = f"changed-{pattern.partition('/')[0].removesuffix('.json')}"
    both.upstream.release(name)
    installs(both.developer(name), f"acme/{name}")
    paths = both.mirror.kept(pattern)
    assert paths
    with away(both):
        for kept in paths:
            content = kept.read_bytes()
            kept.write_bytes(content[:-20] + bytes([content[-20] ^ 1]) + content[-19:])
        both.mirror.stop()
        both.mirror.start()
        installs(both.developer(f"refused-{name}"), f"acme/{name}", "cannot answer")
    installs(both.developer(f"again-{name}"), f"acme/{name}")


def test_what_the_registry_revokes_is_refused_soon(both: Both) -> None:
    both.upstream.release("leaky")
    installs(both.developer("before"), "acme/leaky")
    both.upstream.withdraw("revoke", "leaky")
    started = time.monotonic()
    reader = both.mirror.caller("reader", "user")
    wait_until(lambda: both.mirror.get("/mirrors/corp/packages/acme/leaky/1.0.0.zip", reader).status_code == 409)
    assert time.monotonic() - started < 60  # not at the next refresh, in an hour
    with away(both):
        installs(both.developer("after"), "acme/leaky", "revoked")
        installs(both.developer("exactly"), "acme/leaky@1.0.0", "revoked")
        audited = both.developer("before").run("audit", "--json")
        assert (audited.code, audited.json["withdrawn"][0]["withdrawn"]["state"]) == (1, "revoked"), audited.error


def test_what_was_revoked_while_the_mirror_was_alone_is_refused_at_contact(both: Both) -> None:
    both.upstream.release("later")
    installs(both.developer("earlier"), "acme/later")
    both.mirror.stop()
    both.upstream.withdraw("revoke", "later")
    both.mirror.start()
    assert both.mirror.get("/mirrors/corp/packages/acme/later/1.0.0.zip").status_code == 409


def test_a_yanked_version_is_installed_by_its_number_only(both: Both) -> None:
    both.upstream.release("yanked")
    both.upstream.withdraw("yank", "yanked")
    reader = both.mirror.caller("reader", "user")
    wait_until(lambda: "withdrawn" in both.mirror.get("/mirrors/corp/index/acme/yanked", reader).text)
    line = json.loads(both.mirror.get("/mirrors/corp/index/acme/yanked", reader).text)
    assert (line["yanked"], line["withdrawn"]["state"]) == (True, "yanked")
    installs(both.developer("any"), "acme/yanked", "yanked")
    installs(both.developer("exact"), "acme/yanked@1.0.0")


def test_a_reader_needs_a_credential_of_the_mirroring_service(both: Both, tmp_path: Path) -> None:
    paths = ("index/acme/hello", "packages/acme/hello/1.0.0.zip", "api/v1/log/checkpoint", "api/v1/log/entries")
    for path in paths:
        assert both.mirror.http.get(f"/mirrors/corp/{path}").status_code == 401
        assert both.mirror.get(f"/mirrors/corp/{path}").status_code == 200
        assert both.mirror.get(f"/mirrors/other/{path}").status_code == 404
    described = both.mirror.http.get("/mirrors/corp/.well-known/skill-registry.json").json()
    assert described["log"] == both.upstream.get("/api/v1/log/key").json()["data"]
    assert described["url"] == both.mirror.address
    logged_in = Developer(tmp_path / "person", both.mirror, None)
    signed = logged_in.run("login", "--server", both.mirror.url, "--api-key", stdin=both.mirror.new_key())
    assert signed.code == 0, signed.error
    installs(logged_in, "acme/hello")


def test_the_log_is_that_of_the_registry(both: Both) -> None:
    for path in ("log/entries?start=0", "log/key", "log/inclusion?number=1&size=3", "log/consistency?before=2&size=3"):
        assert both.mirror.get(f"/mirrors/corp/api/v1/{path}").json() == both.upstream.get(f"/api/v1/{path}").json()
    for path in ("log/inclusion?number=1&size=9000", "log/consistency?before=5&size=2"):
        assert both.mirror.get(f"/mirrors/corp/api/v1/{path}").status_code == 400


def test_only_a_registry_can_be_mirrored(both: Both) -> None:
    body = {"name": "shop", "type": "git", "url": "https://example.com/x.git", "mirror": True}
    admin = both.mirror.caller("root", "admin")
    answer = both.mirror.api("POST", "/registry/sources", json=body, headers=admin)
    assert (answer.status_code, "registry" in answer.text) == (400, True)


def test_what_was_kept_of_a_removed_source_is_deleted(both: Both) -> None:
    admin, reader = both.mirror.caller("root", "admin"), both.mirror.caller("reader", "user")
    body = {"name": "shortly", "url": both.upstream.address, "api_key": both.upstream.new_key(), "mirror": True}
    both.mirror.api("POST", "/registry/sources", json=body, headers=admin).raise_for_status()
    both.mirror.get("/mirrors/shortly/packages/acme/hello/1.0.0.zip", reader).raise_for_status()
    folders = set((both.mirror.data_dir / "mirrored").iterdir())
    assert len(folders) == 2
    both.mirror.api("DELETE", "/registry/sources/shortly", headers=admin).raise_for_status()
    assert [folder.name.startswith("corp-") for folder in (both.mirror.data_dir / "mirrored").iterdir()] == [True]
    assert both.mirror.get("/mirrors/shortly/index/acme/hello", reader).status_code == 404
    assert both.mirror.get("/mirrors/corp/packages/acme/hello/1.0.0.zip", reader).status_code == 200
