"""Plugins that a marketplace names in other repositories and zips: their skills are listed, with where they are."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from registry.domain.origins import GitOrigin, GitRef, ZipOrigin
from registry.domain.repository_addresses import RepositoryAddress
from registry.domain.source_entry import Listing, SourceEntry
from registry.outbound import AddressPolicy, OutboundClient
from registry.outbound.git import Git
from registry.sources.downloads import Downloads
from registry.sources.elsewhere import PluginsElsewhere
from registry.sources.fetching import Fetcher
from registry.sources.marketplace import Plugin, RemotePlugin
from registry.sources.plugin_reader import PluginReader
from registry.sources.source_reader import SourceContents
from support.git_server import GitServer, Repository
from support.web_server import WebServer, reply
from support.zips import plain_zip


def skill(name: str, description: str = "Does one thing.") -> str:
    return f"---\nname: {name}\ndescription: {description}\n---\n"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[GitServer]:
    with GitServer(tmp_path / "hub") as hub:
        hub.repository("invoicing").commit(
            {
                ".claude-plugin/plugin.json": '{"name": "invoicing", "version": "2.1.0", "license": "MIT"}',
                "skills/check/SKILL.md": skill("check"),
                "skills/send/SKILL.md": skill("send"),
                "docs/other/SKILL.md": skill("other"),
            }
        )
        hub.repository("ledger").commit({".mcp.json": "{}"})
        yield hub


def source(hub: GitServer) -> SourceEntry:
    return SourceEntry(name="m", type="git", url=hub.url("market"))


def fetcher(tmp_path: Path, *hosts: str) -> Fetcher:
    policy = AddressPolicy(hosts)
    client, git = OutboundClient(policy), Git(policy)
    return Fetcher(client, git, tmp_path / "sources", download_bytes=1 << 20, download_seconds=5.0)


def market(hub: GitServer, *plugins: dict[str, Any]) -> None:
    document = json.dumps({"name": "m", "owner": {"name": "o"}, "plugins": list(plugins)})
    files = {".claude-plugin/marketplace.json": document, "skills/own/SKILL.md": skill("own")}
    hub.repository("market").commit(files)


def git_plugin(hub: GitServer, name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "description": name, "source": {"source": "url", "url": hub.url(name)}} | fields


def read(reader: Fetcher, hub: GitServer, mark: str = "") -> SourceContents:
    contents = reader.read(source(hub), mark)
    assert contents is not None
    return contents


def ids(listing: Listing) -> list[str]:
    return [skill.id for skill in listing.skills]


def test_the_skills_of_a_plugin_elsewhere_are_listed(hub: GitServer, tmp_path: Path) -> None:
    own = {"name": "own", "source": "./skills/own"}
    market(hub, own, git_plugin(hub, "invoicing"), git_plugin(hub, "ledger"))
    contents = read(fetcher(tmp_path, hub.host), hub)
    assert ids(contents.listing) == ["check", "own", "send"]
    check = contents.listing.skills[0]
    assert check.origin == GitOrigin(url=hub.url("invoicing"), subdir="skills/check")
    assert (check.version, check.license) == ("2.1.0", "MIT")
    assert contents.listing.warnings == ["1 plugins in other places have no skills: ledger"]
    assert contents.is_complete


def test_a_plugin_is_read_again_only_if_it_has_changed(hub: GitServer, tmp_path: Path) -> None:
    market(hub, git_plugin(hub, "invoicing"))
    reader = fetcher(tmp_path, hub.host)
    first = read(reader, hub)
    (kept,) = (tmp_path / "sources/m/plugins").iterdir()
    written = kept.stat().st_mtime_ns
    assert ids(read(reader, hub, first.mark).listing) == ["check", "send"]
    assert kept.stat().st_mtime_ns == written
    Repository.at(hub.folder / "invoicing").commit({"skills/late/SKILL.md": skill("late")})
    assert ids(read(reader, hub, first.mark).listing) == ["check", "late", "send"]


def test_a_plugin_that_cannot_be_read_keeps_its_skills(hub: GitServer, tmp_path: Path) -> None:
    market(hub, git_plugin(hub, "invoicing"), git_plugin(hub, "absent"))
    reader = fetcher(tmp_path, hub.host)
    first = read(reader, hub)
    assert ids(first.listing) == ["check", "send"]
    assert first.listing.warnings[0].startswith("1 plugins in other places cannot be read: absent (")
    (hub.folder / "invoicing").rename(hub.folder / "away")
    assert ids(read(reader, hub).listing) == ["check", "send"]


def test_an_entry_says_which_ref_folder_and_skills_are_meant(hub: GitServer, tmp_path: Path) -> None:
    repository = hub.repository("mono")
    commit = repository.commit({f"p/skills/{name}/SKILL.md": skill(name) for name in ("one", "two")})
    repository.git("tag", "v1")
    repository.commit({"p/skills/three/SKILL.md": skill("three")})
    url = hub.url("mono")
    tagged = {"name": "tagged", "source": {"source": "git-subdir", "url": url, "path": "p", "ref": "v1"}}
    pinned = {"name": "pinned", "source": {"source": "url", "url": url, "sha": commit}, "skills": ["./p/skills/two"]}
    market(hub, tagged, pinned)
    origins = {skill.id: skill.origin for skill in read(fetcher(tmp_path, hub.host), hub).listing.skills}
    assert origins == {
        "one": GitOrigin(url=url, ref=GitRef(tag="v1"), subdir="p/skills/one"),
        "two": GitOrigin(url=url, ref=GitRef(tag="v1"), subdir="p/skills/two"),
        "pinned/two": GitOrigin(url=url, ref=GitRef(commit=commit), subdir="p/skills/two"),
    }


def test_a_plugin_may_be_a_zip_and_a_document_may_be_at_a_url(tmp_path: Path) -> None:
    with WebServer() as web:
        files = {f"p-main/skills/{name}/SKILL.md": skill(name).encode() for name in ("one", "two")}
        web.answers["/p.zip"] = reply(plain_zip(files))
        archive = {"name": "p", "source": {"source": "archive", "url": f"{web.url}/p.zip"}}
        web.answers["/m.json"] = reply(json.dumps({"plugins": [archive]}).encode())
        entry = SourceEntry(name="m", type="http", url=f"{web.url}/m.json")
        contents = fetcher(tmp_path, web.host).read(entry, "")
        assert contents is not None
        origins = {skill.id: skill.origin for skill in contents.listing.skills}
        assert origins["one"] == ZipOrigin(url=f"{web.url}/p.zip", subdir="p-main/skills/one")
        assert set(origins) == {"one", "two"}


def test_a_zip_with_a_digest_is_compared_and_not_downloaded_again(tmp_path: Path) -> None:
    with WebServer() as web:
        reader = fetcher(tmp_path, web.host)
        entry = SourceEntry(name="m", type="http", url=f"{web.url}/m.json")

        def contents(package: bytes, name: str = "m") -> SourceContents:
            archive = {"source": "archive", "url": f"{web.url}/p.zip", "sha256": hashlib.sha256(package).hexdigest()}
            document = {"name": name, "plugins": [{"name": "p", "source": archive}]}
            web.answers["/m.json"] = reply(json.dumps(document).encode())
            read = reader.read(entry, "")
            assert read is not None
            return read

        first, second = (plain_zip({f"skills/{name}/SKILL.md": skill(name).encode()}) for name in ("one", "two"))
        web.answers["/p.zip"] = reply(first)
        assert ids(contents(first).listing) == ["one"]
        web.requests.clear()
        assert ids(contents(first, "renamed").listing) == ["one"]
        assert [path for path, _ in web.requests if path == "/p.zip"] == []
        refused = contents(second).listing  # the zip is still the first one
        assert (ids(refused), "has the SHA-256" in str(refused.warnings)) == ([], True)
        web.answers["/p.zip"] = reply(second)
        assert ids(contents(second).listing) == ["two"]


def test_what_time_does_not_suffice_for_is_read_later(hub: GitServer, tmp_path: Path) -> None:
    policy = AddressPolicy([hub.host])
    downloads = Downloads(
        OutboundClient(policy),
        Git(policy),
        tmp_path / "sources",
        download_bytes=1 << 20,
        download_seconds=5.0,
        unpacked_bytes=1 << 20,
    )
    place = RepositoryAddress(hub.url("invoicing"))
    plugins = [RemotePlugin(Plugin(name="invoicing", source={}), place)]
    hasty = PluginsElsewhere(tmp_path / "kept", PluginReader(downloads).read, seconds=0)
    found = hasty.listing(plugins)
    assert (found.skills, hasty.is_complete) == ([], False)
    assert found.warnings == ["1 plugins in other places are not read yet, the next refresh goes on: invoicing"]
    patient = PluginsElsewhere(tmp_path / "kept", PluginReader(downloads).read)
    assert ids(patient.listing(plugins)) == ["check", "send"]
    assert patient.is_complete
    assert ids(hasty.listing(plugins)) == ["check", "send"]


def test_a_plugin_is_read_again_by_another_reader(hub: GitServer, tmp_path: Path) -> None:
    market(hub, git_plugin(hub, "invoicing"))
    reader = fetcher(tmp_path, hub.host)
    assert ids(read(reader, hub).listing) == ["check", "send"]
    (kept,) = (tmp_path / "sources/m/plugins").iterdir()
    kept.write_text(json.dumps({"state": json.loads(kept.read_text())["state"].partition(":")[2]}))
    assert ids(read(reader, hub).listing) == ["check", "send"]


@pytest.mark.parametrize("kind", ["npm", "pip", "command"])
def test_a_plugin_of_another_kind_is_named(hub: GitServer, tmp_path: Path, kind: str) -> None:
    market(hub, {"name": "other", "source": {"source": kind, "package": "x"}})
    listing = read(fetcher(tmp_path, hub.host), hub).listing
    assert listing.skills == []
    assert f"'other' was skipped: the source type '{kind}' is not supported" in listing.warnings[0]
