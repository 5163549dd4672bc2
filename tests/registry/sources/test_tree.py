"""The listing of a folder, with and without a marketplace document."""

import json
from pathlib import Path
from typing import Any

import pytest

from registry.domain.origins import GitOrigin, LocalOrigin
from registry.domain.source_entry import Listed, Listing
from registry.sources.tree import read_tree
from support.servers import write_skill


def read(root: Path) -> Listing:
    return read_tree(root, lambda place: LocalOrigin(path=place))


def places(listing: Listing) -> dict[str, str]:
    return {skill.id: skill.origin.path for skill in listing.skills if isinstance(skill.origin, LocalOrigin)}


def only(listing: Listing) -> Listed:
    (skill,) = listing.skills
    return skill


def write_document(root: Path, document: Any, place: str = ".claude-plugin/marketplace.json") -> None:
    (root / place).parent.mkdir(parents=True, exist_ok=True)
    (root / place).write_text(document if isinstance(document, str) else json.dumps(document))


def test_without_a_document_every_skill_folder_is_listed(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "pdf", "Forms.")
    write_skill(tmp_path / "more/deep", "csv", "Tables.", body="# How\n")
    found = read(tmp_path)
    assert places(found) == {"csv": "more/deep/csv", "pdf": "skills/pdf"}
    assert found.skills[0].body == "# How\n"


def test_a_repository_may_be_one_skill(tmp_path: Path) -> None:
    write_skill(tmp_path, "pdf-forms", "Forms.")
    assert places(read(tmp_path / "pdf-forms")) == {"pdf-forms": "."}


def test_with_a_document_only_its_folders_are_listed(tmp_path: Path) -> None:
    write_skill(tmp_path / "plugins/office/skills", "xlsx", "Sheets.")
    write_skill(tmp_path / "plugins/office/skills", "docx", "Letters.")
    write_skill(tmp_path / "skills", "named", "Named.")
    write_skill(tmp_path / "skills", "unnamed", "Not named.")
    office = {"name": "office", "source": "./office"}
    named = {"name": "named", "source": "../", "skills": ["./skills/named"], "strict": False}
    write_document(tmp_path, {"metadata": {"pluginRoot": "./plugins"}, "plugins": [office, named]})
    assert set(places(read(tmp_path))) == {"xlsx", "docx", "named"}


def test_the_front_matter_overrides_the_document(tmp_path: Path) -> None:
    write_skill(tmp_path, "pdf", "What the skill says.", author="Ada")
    entry = {"name": "pdf", "source": "./pdf", "description": "What the plugin says.", "author": "Bob", "tags": ["t"]}
    write_document(tmp_path, {"plugins": [entry | {"version": "2.0.0"}]})
    skill = only(read(tmp_path))
    assert (skill.description, skill.author) == ("What the skill says.", "Ada")
    assert (skill.tags, skill.version) == (["t"], "2.0.0")


def test_the_path_of_claude_code_comes_first(tmp_path: Path) -> None:
    for name in ("first", "second", "third"):
        write_skill(tmp_path, name, name)
    write_document(tmp_path, {"plugins": [{"name": "p", "source": "./first"}]}, ".claude-plugin/marketplace.json")
    others = [{"name": "p", "source": "./second"}, {"name": "q", "source": "./third"}]
    write_document(tmp_path, {"plugins": others}, "marketplace.json")
    assert set(places(read(tmp_path))) == {"first", "third"}


def test_remote_plugins_are_listed_too(tmp_path: Path) -> None:
    remote = {"name": "remote", "source": {"source": "github", "repo": "acme/remote"}, "description": "Elsewhere."}
    write_document(tmp_path, {"plugins": [remote]})
    assert only(read(tmp_path)).origin == GitOrigin(url="https://github.com/acme/remote")


def test_the_flat_form_names_folders_by_id(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "pdf", "Forms.")
    write_skill(tmp_path / "skills", "csv", "Tables.")
    write_document(tmp_path, {"skills": [{"id": "pdf"}, {"id": "zip", "download_url": "https://e.org/a.zip"}]})
    assert {skill.id for skill in read(tmp_path).skills} == {"pdf", "zip"}


@pytest.mark.parametrize(
    "source",
    ["../outside", "/etc", "./absent", "a\0b", "skills/../../outside", "./link", "x" * 300, "x/../" * 300 + "good"],
)
def test_a_document_cannot_name_folders_outside_its_root(tmp_path: Path, source: str) -> None:
    write_skill(tmp_path / "outside", "secret", "Not for sale.")
    root = tmp_path / "root"
    write_skill(root, "good", "For sale.")
    (root / "link").symlink_to(tmp_path / "outside")
    write_document(root, {"plugins": [{"name": "secret", "source": source}]})
    found = read(root)
    assert found.skills == []
    assert "not a folder of this source" in found.warnings[0]


def test_a_link_out_of_the_folder_is_not_read(tmp_path: Path) -> None:
    write_skill(tmp_path / "outside", "secret", "Not for sale.")
    write_skill(tmp_path / "root", "good", "For sale.")
    (tmp_path / "root/link").symlink_to(tmp_path / "outside/secret")
    (tmp_path / "root/evil").mkdir()
    (tmp_path / "root/evil/SKILL.md").symlink_to(tmp_path / "outside/secret/SKILL.md")
    found = read(tmp_path / "root")
    assert set(places(found)) == {"good"}
    assert "link to a file outside" in found.warnings[0]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": "x"}'])
def test_a_broken_document_gives_a_warning_and_lists_all_folders(tmp_path: Path, text: str) -> None:
    write_skill(tmp_path, "pdf", "Forms.")
    write_document(tmp_path, text)
    found = read(tmp_path)
    assert set(places(found)) == {"pdf"}
    assert "marketplace document" in found.warnings[0]


def test_folders_with_the_same_name_get_qualified_ids(tmp_path: Path) -> None:
    for owner in ("alice", "bob"):
        write_skill(tmp_path / owner, "pdf", f"By {owner}.")
    assert places(read(tmp_path)) == {"pdf": "alice/pdf", "bob/pdf": "bob/pdf"}


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "absent")
