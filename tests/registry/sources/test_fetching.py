"""Sources are read, and origins fetched, from real servers."""

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from registry.domain.origins import GitOrigin, GitRef, HttpOrigin, LocalOrigin, ZipOrigin
from registry.domain.source_entry import SourceEntry
from registry.outbound import AddressPolicy, OutboundClient, OutboundError
from registry.outbound.git import Git
from registry.sources.fetching import Fetcher
from registry.sources.marketplace import UnreadableDocument
from support.git_server import GitServer
from support.web_server import WebServer, reply

SKILL = "---\nname: pdf\ndescription: Fill in pdf forms.\n---\n# Body\n"
A_DIGEST = hashlib.sha256(b"a package").hexdigest()
DOCUMENT = json.dumps({"skills": [{"id": "pdf", "download_url": "pdf.zip"}]}).encode()


@pytest.fixture
def web() -> Iterator[WebServer]:
    with WebServer() as server:
        yield server


def fetcher(tmp_path: Path, **limits: Any) -> Fetcher:
    policy = AddressPolicy(["127.0.0.1"])
    limits = {"download_bytes": 1000, "download_seconds": 5.0} | limits
    return Fetcher(OutboundClient(policy), Git(policy), tmp_path / "kept", **limits)


def git_source(hub: GitServer, user: str = "") -> SourceEntry:
    return SourceEntry(name="hub", type="git", url=hub.url("skills", user), branch="main")


def test_a_repository_is_read_once_per_commit(hub: GitServer, tmp_path: Path) -> None:
    repository, reader = hub.repository("skills"), fetcher(tmp_path)
    first = repository.commit({"skills/pdf/SKILL.md": SKILL})
    read = reader.read(git_source(hub), "")
    assert read is not None
    assert read.mark == first
    assert reader.read(git_source(hub), first) is None
    second = repository.commit({"csv/SKILL.md": SKILL})
    again = reader.read(git_source(hub), first)
    assert again is not None
    assert [skill.id for skill in again.listing.skills] == ["csv", "pdf"]
    assert [path.name for path in (tmp_path / "kept/hub").iterdir()] == [second]


def test_the_marketplace_of_codex_in_a_repository_lists_folders_of_its_root(hub: GitServer, tmp_path: Path) -> None:
    entry = {"name": "office", "source": {"source": "local", "path": "./plugins/office"}}
    files = {".agents/plugins/marketplace.json": json.dumps({"name": "m", "plugins": [entry]})}
    hub.repository("skills").commit(files | {"plugins/office/skills/pdf/SKILL.md": SKILL, "else/x/SKILL.md": SKILL})
    read = fetcher(tmp_path).read(git_source(hub), "")
    assert read is not None
    expected = GitOrigin(url=hub.url("skills"), ref=GitRef(branch="main"), subdir="plugins/office/skills/pdf")
    assert [skill.origin for skill in read.listing.skills] == [expected]


def test_the_origin_of_a_skill_has_no_credentials(hub: GitServer, tmp_path: Path) -> None:
    hub.repository("skills").commit({"skills/pdf/SKILL.md": SKILL})
    read = fetcher(tmp_path).read(git_source(hub, "ada:canary@"), "")
    assert read is not None
    expected = GitOrigin(url=hub.url("skills"), ref=GitRef(branch="main"), subdir="skills/pdf")
    assert [skill.origin for skill in read.listing.skills] == [expected]


def test_a_folder_with_an_invalid_name_is_skipped(hub: GitServer, tmp_path: Path) -> None:
    repository = hub.repository("skills")
    for name in (b"b\xffd", b"a\\b", b"x\x1b[2J"):
        folder = repository.folder / os.fsdecode(name)
        folder.mkdir()
        (folder / "SKILL.md").write_text(SKILL)
    repository.commit({"good/SKILL.md": SKILL})
    read = fetcher(tmp_path).read(git_source(hub), "")
    assert read is not None
    assert [skill.id for skill in read.listing.skills] == ["good"]
    assert len(msgspec.json.encode(read.listing)) < 2000
    assert len(read.listing.warnings) == 3


def test_a_repository_that_is_one_skill_has_the_name_of_its_skill(hub: GitServer, tmp_path: Path) -> None:
    hub.repository("skills").commit({"SKILL.md": SKILL})
    read = fetcher(tmp_path).read(git_source(hub), "")
    assert read is not None
    assert [skill.id for skill in read.listing.skills] == ["pdf"]


@pytest.mark.parametrize("place", ["/.claude-plugin/marketplace.json", "/marketplace.json"])
def test_a_document_is_searched_below_a_url(web: WebServer, tmp_path: Path, place: str) -> None:
    web.answers[place] = reply(DOCUMENT, ETag='"one"')
    source = SourceEntry(name="web", type="http", url=f"{web.url}/")
    read = fetcher(tmp_path).read(source, "")
    assert read is not None
    base = f"{web.url}{place}".removesuffix("marketplace.json")
    assert [skill.origin for skill in read.listing.skills] == [ZipOrigin(url=f"{base}pdf.zip")]
    web.answers[place] = reply(b"", 304)
    assert fetcher(tmp_path).read(source, read.mark) is None


@pytest.mark.parametrize("path", ["/list.json", "/api/v1/registry/sources/local/marketplace", "/m?format=claude"])
def test_a_document_may_be_the_url_itself(web: WebServer, tmp_path: Path, path: str) -> None:
    web.answers[path] = reply(DOCUMENT)
    read = fetcher(tmp_path).read(SourceEntry(name="web", type="http", url=f"{web.url}{path}"), "")
    assert read is not None
    assert [skill.id for skill in read.listing.skills] == ["pdf"]


def test_an_index_of_skills_is_read_in_both_versions(web: WebServer, tmp_path: Path) -> None:
    digest = hashlib.sha256(SKILL.encode()).hexdigest()
    skills = [
        {
            "name": "pdf",
            "type": "archive",
            "url": "pdf.zip",
            "description": "Forms.",
            "digest": f"sha256:{A_DIGEST.upper()}",
        },
        {"name": "csv", "type": "skill-md", "url": "/other/csv/SKILL.md", "digest": f"sha256:{digest}"},
        {"name": "old", "files": ["SKILL.md"]},
        {"name": "files", "files": ["SKILL.md", "a.md"]},
        {"name": "tar", "type": "archive", "url": "tar.tar.gz"},
        {"name": "../x", "url": "x.zip"},
        {"name": "inner", "url": "file:///etc/passwd"},
        {"name": "weak", "url": "pdf.zip", "digest": "md5:d41d8cd98f00b204e9800998ecf8427e"},
        {"name": "short", "url": "pdf.zip", "digest": "sha256:00"},
        5,
    ]
    place = "/.well-known/agent-skills/index.json"
    web.answers[place] = reply(json.dumps({"$schema": "…/0.2.0/schema.json", "skills": skills}).encode(), ETag='"a"')
    web.answers["/other/csv/SKILL.md"] = reply(SKILL.encode())
    reader, source = fetcher(tmp_path), SourceEntry(name="web", type="http", url=web.url)
    assert (reader.has_index(web.url), reader.has_index(f"{web.url}/else")) == (True, False)
    read = reader.read(source, "")
    assert read is not None
    folder = web.url + place.removesuffix("/index.json")
    csv = HttpOrigin(url=f"{web.url}/other/csv/SKILL.md", sha256=digest)
    assert {skill.id: skill.origin for skill in read.listing.skills} == {
        "pdf": ZipOrigin(url=f"{folder}/pdf.zip", sha256=A_DIGEST),
        "csv": csv,
        "old": HttpOrigin(url=f"{folder}/old/SKILL.md"),
        "files": None,
        "tar": None,
    }
    reasons = {skill.id: skill.not_installable for skill in read.listing.skills if not skill.installable}
    assert set(reasons) == {"files", "tar"}
    assert len(read.listing.warnings) == 5
    with reader.fetching(csv) as fetched:
        assert (fetched.path / "SKILL.md").read_text() == SKILL


def test_other_bytes_than_an_index_names_are_refused(web: WebServer, tmp_path: Path) -> None:
    web.answers["/SKILL.md"] = web.answers["/pdf.zip"] = reply(b"other")
    skill, archive = (
        kind(url=f"{web.url}{path}", sha256=A_DIGEST)
        for kind, path in ((HttpOrigin, "/SKILL.md"), (ZipOrigin, "/pdf.zip"))
    )
    reason = f"has the SHA-256 d9298a10.*, not {A_DIGEST}"
    for origin in (skill, archive):
        with pytest.raises(OutboundError, match=reason), fetcher(tmp_path).fetching(origin):
            pytest.fail("it was fetched")


@pytest.mark.parametrize("body", [b"<html>", b"x" * (11 << 20)])
def test_an_invalid_document_is_an_error(web: WebServer, tmp_path: Path, body: bytes) -> None:
    web.answers["/list.json"] = reply(body)
    with pytest.raises((OutboundError, UnreadableDocument)):
        fetcher(tmp_path).read(SourceEntry(name="web", type="http", url=f"{web.url}/list.json"), "")
    assert not (tmp_path / "kept/web").exists()


def test_origins_are_fetched(hub: GitServer, web: WebServer, tmp_path: Path) -> None:
    commit = hub.repository("skills").commit({"skills/pdf/SKILL.md": SKILL})
    web.answers["/pdf.zip"] = reply(b"zip")
    origins = fetcher(tmp_path)
    folder = origins.fetch(GitOrigin(url=hub.url("skills"), subdir="skills/pdf"), tmp_path / "folder")
    assert (folder.path / "SKILL.md").read_text() == SKILL
    assert folder == (commit, tmp_path / "folder/skills/pdf", ())
    assert origins.fetch(ZipOrigin(url=f"{web.url}/pdf.zip"), tmp_path / "file").path.read_bytes() == b"zip"
    with pytest.raises(ValueError, match="with a URL"):
        origins.fetch(LocalOrigin(path="/etc"), tmp_path / "local")


def test_a_file_over_the_limit_is_not_fetched(web: WebServer, tmp_path: Path) -> None:
    web.answers["/pdf.zip"] = reply(b"x" * 1001)
    with pytest.raises(OutboundError, match="larger"):
        fetcher(tmp_path).fetch(ZipOrigin(url=f"{web.url}/pdf.zip"), tmp_path / "file")
    assert not (tmp_path / "file").exists()
