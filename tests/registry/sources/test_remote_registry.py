"""Another registry over HTTP: what is believed of its answers, and who gets the credential."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from registry.errors import RegistryError
from registry.outbound import AddressPolicy, OutboundClient, OutboundError, StatusError, Validators
from registry.sources.remote_registry import DISCOVERY, NotARegistry, Release, RemoteRegistry
from support.web_server import WebServer, flood, redirect, reply

CHANGES = "/api/v1/registry/index/changes?after=0&limit=200"
SKILL = {
    "name": "Hello",
    "description": "Says hello.",
    "version": "1.2.0",
    "download_url": "/packages/a/hello/1.2.0.zip",
}
DIGEST = "sha256:" + "a" * 64


@pytest.fixture
def web() -> Iterator[WebServer]:
    with WebServer() as server:
        yield server


def registry(web: WebServer, *others: WebServer, key: str | None = None, path: str = "") -> RemoteRegistry:
    outbound = OutboundClient(AddressPolicy([web.host, *(other.host for other in others)]))
    return RemoteRegistry(outbound, web.url + path, key, download_bytes=1000, seconds=10)


def answer_page(web: WebServer, *changes: Any, **fields: Any) -> None:
    page = {"catalog": "c", "revision": 7, "complete": True, "changes": changes} | fields
    web.answers[CHANGES] = reply(json.dumps({"success": True, "data": page}).encode(), ETag='"c-7"')


def test_a_page_has_the_skills_that_changed(web: WebServer) -> None:
    answer_page(web, {"id": "a/hello", "revision": 3, "skill": SKILL}, {"id": "a/gone", "revision": 7, "skill": None})
    page = registry(web).changes(0)
    assert page is not None
    assert (page.catalog, page.revision, page.is_complete, page.warnings) == ("c", 7, True, [])
    (hello, gone) = page.changes
    assert (gone.skill_id, gone.listed) == ("a/gone", None)
    assert hello.listed is not None
    assert hello.listed.download_url == f"{web.url}/packages/a/hello/1.2.0.zip"
    web.answers[CHANGES] = reply(b"", 304)
    assert registry(web).changes(0, known=page.validators) is None
    assert page.validators == Validators('"c-7"')


@pytest.mark.parametrize(
    "change",
    [
        *({"id": name, "skill": SKILL} for name in ("../evil", "a/b/c", "A/b", "a/b\n", "", 7, None)),
        *({"id": "a/b", "skill": SKILL | {"version": version}} for version in ("1", "1.0.0-rc", "../1.0.0", None)),
        {"id": "a/b", "skill": SKILL | {"description": ["no text"]}},
        {"id": "a/b"},
        [],
        None,
    ],
)
def test_an_invalid_entry_is_skipped_with_a_warning(web: WebServer, change: Any) -> None:
    answer_page(web, change, {"id": "a/hello", "skill": SKILL})
    page = registry(web).changes(0)
    assert page is not None
    assert [entry.skill_id for entry in page.changes] == ["a/hello"]
    assert len(page.warnings) == 1


def test_texts_are_bounded_and_made_storable(web: WebServer) -> None:
    skill = SKILL | {"name": "n\u0000\n" * 500, "body": "b\u0000" * 100_000, "tags": ["t" * 999] * 999}
    answer_page(web, {"id": "a/hello", "skill": skill | {"download_url": "http://ada:canary@example.org/a.zip"}})
    page = registry(web).changes(0)
    assert page is not None
    listed = page.changes[0].listed
    assert listed is not None
    assert len(listed.name) <= 100
    assert listed.body == "b\ufffd" * 50_000
    assert [len(tag) for tag in listed.tags] == [50]
    assert listed.download_url is None


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"[]", b"{}", b"null", b'{"data": 7}', b"[" * 100_000, b"\xff", b"{" + b'"a":[' * 50_000),
        b'{"data": {"catalog": "c", "revision": 1, "complete": true, "changes": [' + b"0," * 90_000 + b"0]}}",
        b'{"data": {"catalog": "c", "revision": -1, "complete": true, "changes": []}}',
        b'{"data": {"catalog": "c", "revision": 1e99, "complete": true, "changes": []}}',
        b'{"data": {"catalog": "c\\n", "revision": 1, "complete": true, "changes": []}}',
        b'{"data": {"catalog": "c", "revision": 9, "complete": false, "changes": []}}',
        b'{"data": {"catalog": "c", "revision": 0, "complete": false, "changes": [0]}}',
    ],
)
def test_what_is_no_page_is_an_error(web: WebServer, body: bytes) -> None:
    web.answers[CHANGES] = reply(body)
    with pytest.raises(OutboundError):
        registry(web).changes(0)


def test_every_answer_is_bounded(web: WebServer, tmp_path: Path) -> None:
    for path in (CHANGES, DISCOVERY, "/index/a/b", "/api/v1/log/checkpoint", "/packages/a/b/1.0.0.zip"):
        web.answers[path] = flood
    remote = registry(web)
    release = Release(skill_id="a/b", version="1.0.0", checksum=DIGEST, yanked=False, download_url=None, size=0)
    for read in (
        lambda: remote.changes(0),
        remote.description,
        lambda: remote.releases("a/b"),
        remote.checkpoint,
        lambda: remote.download(release, tmp_path / "package.zip"),
    ):
        with pytest.raises(OutboundError, match="larger than"):
            read()
    assert list(tmp_path.iterdir()) == []


def test_a_registry_describes_itself(web: WebServer) -> None:
    described = {"protocol": "skill-registry", "version": 1, "service_version": "0.2.0", "url": None}
    described |= {"anonymous_read": True, "log": {"name": "log", "key": "log+00+AA=="}, "later": [1]}
    web.answers[f"/below{DISCOVERY}"] = reply(json.dumps(described).encode())
    found = registry(web, path="/below/", key="sk_canary").description()
    assert (found.anonymous_read, found.log and found.log.key) == (True, "log+00+AA==")
    assert "canary" not in str(web.requests)  # it is public
    with pytest.raises(NotARegistry):
        registry(web).description()
    web.answers[DISCOVERY] = reply(json.dumps(described | {"version": 2}).encode())
    with pytest.raises(OutboundError, match="version 2"):
        registry(web).description()


@pytest.mark.parametrize(
    "url", ["http://a:canary@127.0.0.1", "http://127.0.0.1/?key=canary", "http://127.0.0.1/#canary"]
)
def test_a_url_with_credentials_is_refused_without_showing_them(url: str) -> None:
    with pytest.raises(OutboundError) as error:
        RemoteRegistry(OutboundClient(AddressPolicy()), url, download_bytes=1, seconds=1)
    assert "canary" not in str(error.value)


def test_the_versions_of_a_skill_are_read_line_by_line(web: WebServer) -> None:
    line = {"name": "a/b", "vers": "1.0.0", "cksum": DIGEST, "yanked": False, "download_url": "/packages/a/b/1.0.0.zip"}
    lines: list[dict[str, Any]] = [
        line | {"size": 7},
        line | {"vers": "1.1.0", "yanked": True, "download_url": "https://cdn.example/b.zip"},
        line,  # again
        line | {"vers": "1.2"},
        line | {"vers": "1.3.0", "cksum": None},
        line | {"vers": "1.4.0", "name": "a/other"},
        line | {"vers": "1.5.0", "x": "x" * 140_000},
    ]
    web.answers["/index/a/b"] = reply(b"\n".join(json.dumps(one).encode() for one in lines) + b"\n\nnone\n\xff\n")
    first, second = registry(web).releases("a/b")
    assert (first.version, first.size, first.yanked) == ("1.0.0", 7, False)
    assert (second.version, second.yanked, second.download_url) == ("1.1.0", True, "https://cdn.example/b.zip")
    with pytest.raises(RegistryError) as error:
        registry(web).releases("a/absent")
    assert error.value.code == "SKILL_NOT_FOUND"


@pytest.mark.parametrize(
    ("status", "key", "message"),
    [
        (401, None, "'skill-registry login --server http"),
        (401, "sk_canary", "does not accept"),
        (403, "sk_canary", "lacks the role"),
    ],
)
def test_a_refusal_says_what_is_missing(web: WebServer, status: int, key: str | None, message: str) -> None:
    for path in (CHANGES, "/index/a/b", "/api/v1/log/checkpoint", "/api/v1/log/proof/a/b/1.0.0"):
        web.answers[path] = reply(b"", status)
    remote = registry(web, key=key)
    for read in (
        lambda: remote.changes(0),
        lambda: remote.releases("a/b"),
        remote.checkpoint,
        lambda: remote.log_proof("a/b", "1.0.0"),
    ):
        with pytest.raises(StatusError, match=message) as error:
            read()
        assert "canary" not in str(error.value)


def release_of(package: bytes, url: str | None, **fields: Any) -> Release:
    checksum = f"sha256:{hashlib.sha256(package).hexdigest()}"
    values = {"version": "1.0.0", "checksum": checksum, "yanked": False, "download_url": url, "size": len(package)}
    given: dict[str, Any] = values | fields
    return Release(skill_id="a/b", **given)


def test_a_package_elsewhere_is_fetched_without_the_credential_and_checked(web: WebServer, tmp_path: Path) -> None:
    own = "/packages/a/b/1.0.0.zip"
    with WebServer({"/b.zip": reply(b"package")}) as blobs:
        remote = registry(web, blobs, key="sk_canary")
        remote.download(release_of(b"package", f"{blobs.url}/b.zip"), tmp_path / "1")
        assert (tmp_path / "1").read_bytes() == b"package"
        assert web.requests == []
        web.answers[own] = reply(b"package")
        for number, answer in enumerate([reply(b"PACKAGE"), reply(b"", 403), reply(b"package, and more")]):
            blobs.answers["/b.zip"] = answer
            remote.download(release_of(b"package", f"{blobs.url}/b.zip"), tmp_path / f"own{number}")
            assert (tmp_path / f"own{number}").read_bytes() == b"package"
        assert [request[1].get("x-api-key") for request in web.requests] == ["sk_canary"] * 3
        web.answers[own] = redirect(f"{blobs.url}/b.zip")
        blobs.answers["/b.zip"] = reply(b"package")
        remote.download(release_of(b"package", None), tmp_path / "2")
        assert "canary" not in str(blobs.requests)


def test_other_bytes_than_the_index_says_are_refused(web: WebServer, tmp_path: Path) -> None:
    web.answers["/packages/a/b/1.0.0.zip"] = reply(b"package")
    for release in (
        release_of(b"another", None),
        release_of(b"package", None, size=6),
        release_of(b"package", None, size=1001),
    ):
        with pytest.raises(OutboundError):
            registry(web).download(release, tmp_path / "package.zip")
    assert list(tmp_path.iterdir()) == []


def test_proofs_of_the_log_are_read(web: WebServer) -> None:
    bundle = {
        "checkpoint": "log\n1\nAA==\n\n\u2014 log AA==\n",
        "size": 1,
        "number": 0,
        "entry": "{}",
        "proof": ["AA=="],
    }
    web.answers["/api/v1/log/proof/a/b/1.0.0"] = reply(json.dumps({"data": bundle}).encode())
    proof = registry(web).log_proof("a/b", "1.0.0")
    assert (proof.number, proof.entry, proof.proof) == (0, "{}", ["AA=="])
    web.answers["/api/v1/log/consistency?before=1&size=2"] = reply(b'{"data": {"size": 2, "proof": ["AA=="]}}')
    assert registry(web).consistency(1, 2) == [b"\x00"]
    for proof_body in (b'{"data": {"proof": ["no base64"]}}', b'{"data": {"proof": 7}}', b"[]"):
        web.answers["/api/v1/log/consistency?before=1&size=2"] = reply(proof_body)
        with pytest.raises(OutboundError):
            registry(web).consistency(1, 2)
    with pytest.raises(RegistryError) as error:
        registry(web).log_proof("a/b", "2.0.0")
    assert error.value.code == "SKILL_NOT_FOUND"


@pytest.mark.parametrize("status", [409, 429, 503])
def test_the_reason_of_a_refusal_is_that_of_the_registry(web: WebServer, status: int) -> None:
    error = {"code": "ANY", "message": "Today we\n\x1b[31m rest"}
    body = json.dumps({"success": False, "error": error}).encode()
    web.answers[CHANGES] = reply(body, status, **{"Content-Type": "application/json; charset=utf-8"})
    with pytest.raises(StatusError, match=rf"answers with status {status}: Today we \[31m rest$") as refused:
        registry(web).changes(0)
    assert refused.value.status == status


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'{"error": "x"}', b'{"error": {"message": 7}}', b'"' + b"x" * 20_000 + b'"']
)
def test_a_refusal_without_a_reason_is_given_none(web: WebServer, body: bytes) -> None:
    web.answers[CHANGES] = reply(body, 409, **{"Content-Type": "application/json"})
    with pytest.raises(StatusError, match=r"answers with status 409$"):
        registry(web).changes(0)
