"""Marketplace documents in both forms are read and written."""

import json
from typing import Any
from urllib.parse import urljoin

import msgspec
import pytest

from registry.domain.origins import GitOrigin, GitRef, RegistryOrigin, ZipOrigin
from registry.domain.source_entry import Listed, Listing
from registry.sources.marketplace import UnreadableDocument, parse_document, remote_listing
from registry.sources.marketplace_documents import claude_document

BASE = "https://market.example/m/marketplace.json"
HASH = "0123456789abcdef0123456789abcdef01234567"
DIGEST = "0123456789abcdef" * 4


def listing(document: Any) -> Listing:
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    return remote_listing(parse_document(data), lambda url: urljoin(BASE, url))


def plugin(source: Any, **fields: Any) -> Listing:
    entry = {"name": "pdf", "source": source, "description": "Fills in forms.", **fields}
    return listing({"name": "market", "owner": {"name": "Ada"}, "plugins": [entry]})


def test_the_flat_form_is_read() -> None:
    entry = {"id": "pdf", "name": "PDF", "description": "Forms.", "version": "1.2.0", "tags": "a, b", "author": "Ada"}
    (skill,) = listing({"version": "1.0", "skills": [entry | {"download_url": "/pdf.zip"}]}).skills
    assert (skill.id, skill.name, skill.version, skill.tags, skill.author) == ("pdf", "PDF", "1.2.0", ["a", "b"], "Ada")
    assert skill.origin == ZipOrigin(url="https://market.example/pdf.zip")
    assert listing({"success": True, "data": {"skills": [entry]}}).skills[0].id == "pdf"


@pytest.mark.parametrize(
    ("source", "origin"),
    [
        ({"source": "github", "repo": "acme/pdf"}, GitOrigin(url="https://github.com/acme/pdf")),
        (
            {"source": "url", "url": "https://git.example/pdf.git", "ref": "dev"},
            GitOrigin(url="https://git.example/pdf.git", ref=GitRef(branch="dev")),
        ),
        (
            {"source": "git-subdir", "url": "https://git.example/pdf", "path": "./skills/pdf", "sha": HASH},
            GitOrigin(url="https://git.example/pdf", ref=GitRef(commit=HASH), subdir="skills/pdf"),
        ),
        ({"source": "archive", "url": "https://e.org/pdf.zip"}, ZipOrigin(url="https://e.org/pdf.zip")),
        (
            {"source": "archive", "url": "https://e.org/pdf.zip", "sha256": DIGEST.upper()},
            ZipOrigin(url="https://e.org/pdf.zip", sha256=DIGEST),
        ),
    ],
)
def test_the_origin_of_a_plugin_is_read(source: dict[str, str], origin: GitOrigin | ZipOrigin) -> None:
    (skill,) = plugin(source, author={"name": "Ada"}, keywords=["forms"], category="office").skills
    assert (skill.origin, skill.author, skill.tags) == (origin, "Ada", ["forms", "office"])


@pytest.mark.parametrize(
    ("version", "read", "is_noted"),
    [
        *(("1.10", "1.10.0", True), ("2", "2.0.0", True), ("1e400", "1.0.0", True), ('"1.2"', "1.2.0", False)),
        *(("null", "1.0.0", False), ("-1", "1.0.0", False), ("[1]", "1.0.0", False)),
    ],
)
def test_a_version_that_is_no_text_costs_no_entry(version: str, read: str, is_noted: bool) -> None:
    source = '{"source": "github", "repo": "acme/pdf"}'
    plugins = f'{{"plugins": [{{"name": "pdf", "source": {source}, "version": {version}}}]}}'
    flat = f'{{"skills": [{{"id": "pdf", "description": "x", "version": {version}}}]}}'
    for document in (plugins, flat):
        found = listing(document.encode())
        assert [skill.version for skill in found.skills] == [read]
        assert [("number as its version" in warning) for warning in found.warnings] == [True] * is_noted


def test_digests_of_zips_pass_through_both_forms() -> None:
    entry = {"id": "pdf", "description": "x", "download_url": "https://e.org/pdf.zip", "checksum": f"sha256:{DIGEST}"}
    (skill,) = listing(json.dumps({"skills": [entry]}).encode()).skills
    assert skill.origin == ZipOrigin(url="https://e.org/pdf.zip", sha256=DIGEST)
    (shown,) = claude_document("s", [skill])["plugins"]
    assert shown["source"] == {"source": "archive", "url": "https://e.org/pdf.zip", "sha256": DIGEST}
    (again,) = plugin(shown["source"]).skills
    assert again.origin == skill.origin


def test_a_plugin_with_several_skills_is_listed_as_several() -> None:
    found = plugin({"source": "github", "repo": "acme/office"}, skills=["./skills/xlsx", "./skills/docx", "./"])
    origins = {skill.id: skill.origin.subdir for skill in found.skills if isinstance(skill.origin, GitOrigin)}
    assert origins == {"xlsx": "skills/xlsx", "docx": "skills/docx", "pdf": None}


@pytest.mark.parametrize(
    "source",
    [
        *("./pdf", "../../etc", {}, {"source": "npm", "package": "x"}, {"source": "command", "command": "rm"}),
        *({"source": "github", "repo": "file:///etc"}, {"source": "url", "url": "ext::sh -c x"}, {"source": "archive"}),
        {"source": "url", "url": "ssh://-oProxyCommand=x"},
        {"source": "github", "repo": "a/b", "ref": "--upload-pack=touch X"},
        {"source": "git-subdir", "url": "https://e.org/a", "path": "../../etc"},
        {"source": "url", "url": "http://127.1/a"},
        {"source": "archive", "url": "https://e.org/pdf.zip", "sha256": "md5:00"},
    ],
)
def test_a_plugin_with_an_unsupported_source_is_skipped_with_a_warning(source: Any) -> None:
    found = plugin(source)
    assert found.skills == []
    assert len(found.warnings) == 1
    assert "pdf" in found.warnings[0]


@pytest.mark.parametrize("skill_id", ["../x", "a b", "A", "", "x" * 81, "a/b/c", "pdf\n", "päd", 5, None])
def test_only_an_entry_with_an_invalid_id_is_skipped(skill_id: Any) -> None:
    found = listing({"skills": [{"id": skill_id}, {"id": "good"}]})
    assert [skill.id for skill in found.skills] == ["good"]
    assert len(found.warnings) == 1


def test_the_number_of_entries_is_bounded() -> None:
    source = {"source": "github", "repo": "acme/x"}
    names = [f"./s/{number}" for number in range(500)]
    plugins = [{"name": f"p{number}", "source": source, "skills": names} for number in range(60)]
    bad = [{"name": f"bad{number}", "source": "./x"} for number in range(500)]
    found = listing({"plugins": bad + plugins})
    assert len(found.skills) <= 200
    assert len(found.warnings) == 20


def test_untrusted_texts_are_bounded() -> None:
    entry = {"id": "pdf", "name": "P" * 500, "description": "a\x1b[2Jb\nc" + "d" * 5000, "version": "latest"}
    (skill,) = listing({"skills": [entry | {"tags": ["t" * 99] * 99}]}).skills
    assert (len(skill.name), len(skill.description), skill.version) == (100, 1024, "1.0.0")
    assert skill.description.startswith("a [2Jb c")
    assert skill.tags == ["t" * 50]


def test_the_first_entry_of_an_id_counts() -> None:
    found = listing({"skills": [{"id": "pdf", "name": "first"}, {"id": "pdf", "name": "second"}]})
    assert [skill.name for skill in found.skills] == ["first"]
    assert found.warnings[0] == "skipped, because an entry before has the id: 1 entry"


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"[]", b"null", b"{}", b"<html>", b"\xff\xfe", b'{"skills": 5}', b'{"plugins": {}}'),
        *(b"[" * 100_000, b'{"data":' * 100_000, b'{"skills": [', b'{"data": {}}'),
    ],
)
def test_an_invalid_document_is_an_error(data: bytes) -> None:
    with pytest.raises(UnreadableDocument):
        parse_document(data)


@pytest.mark.parametrize("depth", [100, 50_000])
def test_a_deeply_nested_entry_is_harmless(depth: int) -> None:
    deep = b'{"skills": [{"id": "a", "x": ' + b"[" * depth + b"]" * depth + b"}]}"
    if depth > 1000:
        with pytest.raises(UnreadableDocument):
            listing(deep)
    else:
        assert [skill.id for skill in listing(deep).skills] == ["a"]


def test_a_written_plugin_document_can_be_read() -> None:
    origins = {
        "a": GitOrigin(url="https://e.org/r", ref=GitRef(branch="main"), subdir="skills/a"),
        "b": GitOrigin(url="https://e.org/r"),
        "c": ZipOrigin(url="https://e.org/c.zip"),
        "plain": ZipOrigin(url="http://e.org/c.zip"),
        "nowhere": None,
    }
    skills = [Listed(id=name, name=name, description="d", origin=origin) for name, origin in origins.items()]
    document = claude_document("my_source", skills)
    assert document["name"] == "my-source"
    found = {skill.id: skill.origin for skill in listing(document).skills}
    assert found == {name: origins[name] for name in ("a", "b", "c")}


def test_no_skill_gets_the_plugin_name_of_another() -> None:
    origin = GitOrigin(url="https://e.org/r")
    ids = ("acme/a-b", "acme-a/b", "acme/plain")
    skills = [Listed(id=skill_id, name="n", description="d", origin=origin) for skill_id in ids]
    names = [plugin["name"] for plugin in claude_document("s", skills)["plugins"]]
    assert names[2] == "acme-plain"
    assert len({*names, "acme-a-b"}) == 4
    assert names[:2] == [plugin["name"] for plugin in claude_document("s", skills[1::-1])["plugins"]][::-1]


def test_the_plugin_form_names_the_package_of_a_skill_in_another_registry() -> None:
    origin = RegistryOrigin(url="https://registry.example.org", skill="acme/hello")
    urls = ["https://registry.example.org/packages/acme/hello/1.0.0.zip", "http://registry.example.org/a.zip", None]
    hello = Listed(id="acme/hello", name="hello", description="Says hello.", origin=origin)
    listed = [msgspec.structs.replace(hello, download_url=url) for url in urls]
    sources = [plugin["source"] for skill in listed for plugin in claude_document("corp", [skill])["plugins"]]
    assert sources == [{"source": "archive", "url": urls[0]}]
