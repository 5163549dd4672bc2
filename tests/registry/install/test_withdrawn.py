"""Between a client and an honest registry: a proxy that hides from the client that a version was withdrawn.

The index is not signed, the log is. What the log says of a version counts.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from registry.domain.api import API
from support.commands import Done
from support.publishing import Registry, skill_package
from support.spoiling_proxy import Passed, SpoilingProxy

PACKAGE = skill_package("tea", "1.1.0")


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with Registry(tmp_path / "registry") as running:
        running.finished(running.publish(skill_package("tea", "1.0.0")))
        running.finished(running.publish(PACKAGE))
        yield running


def change(registry: Registry, action: str) -> None:
    role = "admin" if action == "revoke" else "manager"
    path = f"/api/v1/registry/skills/acme/tea/1.1.0/{action}"
    assert registry.http.post(path, headers=registry.caller(role=role), json={}).status_code == 200


def hiding(passed: Passed) -> Passed:
    """Say that each version is active, and serve the bytes that were kept."""
    if passed.path == "/index/acme/tea":
        return passed._replace(body=passed.body.replace(b'"yanked":true', b'"yanked":false'))
    if passed.path == "/packages/acme/tea/1.1.0.zip":
        return passed._replace(status=200, headers={"Content-Type": "application/zip"}, body=PACKAGE)
    return passed


def entries_changed(change: Callable[[list[str]], list[str]]) -> Callable[[Passed], Passed]:
    """Hide as before, and change the entries of the log too."""

    def spoil(passed: Passed) -> Passed:
        if not passed.path.startswith(f"{API}/log/entries"):
            return hiding(passed)
        answer = json.loads(passed.body)
        answer["data"]["entries"] = change(answer["data"]["entries"])
        return passed._replace(body=json.dumps(answer).encode())

    return spoil


def install(registry: Registry, url: str, folder: Path, origin: str = "acme/tea") -> Done:
    folder.mkdir(exist_ok=True)
    token = registry.caller("reader", "user")["Authorization"].removeprefix("Bearer ")
    flags = ("--no-save", "--from", url)
    return Done(folder, "install", origin, *flags, SKILL_REGISTRY_CLIENT_API_KEY=token)


def test_a_hidden_withdrawal_is_found_in_the_log(registry: Registry, tmp_path: Path) -> None:
    with SpoilingProxy(registry.url, hiding) as proxy:
        change(registry, "yank")
        done = install(registry, proxy.url, tmp_path / "a")
        assert (done.code, "its log says that it is yanked" in done.error) == (1, True), done.error
        exact = install(registry, registry.url, tmp_path / "exact", "acme/tea@1.1.0")
        assert exact.code == 0, exact.error
        change(registry, "unyank")
        again = install(registry, proxy.url, tmp_path / "a")
        assert (again.code, "1.1.0" in again.out) == (0, True), again.error
        change(registry, "revoke")
        for folder, origin in (("b", "acme/tea"), ("c", "acme/tea@1.1.0")):
            done = install(registry, proxy.url, tmp_path / folder, origin)
            assert (done.code, "its log says that it was revoked" in done.error) == (1, True), done.error
            assert not (tmp_path / folder / "skills" / "tea").exists()
        honest = install(registry, registry.url, tmp_path / "d")
        assert (honest.code, "1.0.0" in honest.out) == (0, True), honest.error


@pytest.mark.parametrize(
    "change_entries",
    [
        lambda entries: [entry for entry in entries if "revoke" not in entry],
        lambda entries: [entry.replace("revoke", "unyank") for entry in entries],
        lambda entries: entries[::-1],
        lambda entries: [],
    ],
    ids=["left out", "changed", "in another order", "none"],
)
def test_entries_that_are_not_those_of_the_signed_log_are_refused(
    registry: Registry, tmp_path: Path, change_entries: Callable[[list[str]], list[str]]
) -> None:
    change(registry, "revoke")
    with SpoilingProxy(registry.url, entries_changed(change_entries)) as proxy:
        done = install(registry, proxy.url, tmp_path / "a")
    assert done.code == 1
    assert "entries" in done.error
    assert not (tmp_path / "a" / "skills" / "tea").exists()
