"""What a registry says of itself, and where its documents say that packages are."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from registry import __version__
from support.commands import Done
from support.publishing import Registry, skill_package

PUBLIC_URL = "https://skills.example.org/registry"
PACKAGE = "/packages/acme/lathe/1.0.0.zip"
DISCOVERY = "/.well-known/skill-registry.json"


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with Registry(tmp_path_factory.mktemp("registry"), "--public-url", f"{PUBLIC_URL}/") as running:
        assert publish(running)["download_url"] == f"{PUBLIC_URL}{PACKAGE}"
        yield running


def publish(registry: Registry) -> dict[str, Any]:
    return registry.finished(registry.publish(skill_package("lathe", body="# Body\nTurns zebrawood.\n")))


def named_urls(registry: Registry) -> dict[str, Any]:
    """Return the URL of the package in every document that names it."""
    listed = registry.get("/api/registry/index/changes").json()["data"]["changes"]
    resolve = registry.http.post("/api/v1/resolve", json={"prompt": "zebrawood"}, headers=registry.caller())
    market = registry.get("/api/registry/sources/registry/marketplace").json()["data"]["skills"]
    return {
        "marketplace": market[0]["download_url"],
        "detail": registry.get("/api/code/v1/skills/acme/lathe").json()["data"]["download_url"],
        "resolve": resolve.json()["data"]["results"][0]["download_url"],
        "index": json.loads(registry.get("/index/acme/lathe").text)["download_url"],
        "changes": listed[0]["skill"]["download_url"],
    }


def test_every_document_names_the_package_below_the_public_url(registry: Registry) -> None:
    assert set(named_urls(registry).values()) == {f"{PUBLIC_URL}{PACKAGE}"}


def test_without_a_public_url_documents_name_paths(tmp_path: Path) -> None:
    with Registry(tmp_path) as registry:
        assert publish(registry)["download_url"] == PACKAGE
        assert set(named_urls(registry).values()) == {PACKAGE}


def test_the_url_of_the_store_comes_before_the_public_url(tmp_path: Path) -> None:
    urls = ("--public-url", PUBLIC_URL, "--s3-blob-base-url", "https://blobs.example.org/public/")
    with Registry(tmp_path, *urls) as registry:
        blob = "https://blobs.example.org/public/skills/acme/lathe-1.0.0.zip"
        assert publish(registry)["download_url"] == blob
        assert set(named_urls(registry).values()) == {blob}


def test_anybody_may_read_what_a_registry_says_of_itself(registry: Registry) -> None:
    answer = registry.http.get(DISCOVERY)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json")
    assert answer.json() == {
        "protocol": "skill-registry",
        "version": 1,
        "service_version": __version__,
        "url": PUBLIC_URL,
        "anonymous_read": False,
        "log": registry.get("/api/v1/log/key").json()["data"],
    }


def test_a_registry_may_be_open_and_not_know_its_url(tmp_path: Path) -> None:
    with Registry(tmp_path, "--auth-anonymous-read") as registry:
        described = registry.http.get(DISCOVERY).json()
        assert (described["anonymous_read"], described["url"]) == (True, None)


@pytest.mark.parametrize("url", ["skills.example.org", "https://ann:secret@example.org", "https://example.org/?a=b"])
def test_a_public_url_that_cannot_be_one_is_refused(tmp_path: Path, url: str) -> None:
    done = Done(tmp_path, "serve", "--public-url", url)
    assert done.code == 2
    assert "server.public_url" in done.error or "--public-url" in done.error
    assert "secret" not in done.error
