"""Small reproductions of the layouts of public repositories: what is listed is what their authors offer."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from registry.domain.origins import LocalOrigin
from registry.domain.source_entry import Listed, Listing
from registry.sources.tree import read_tree

MARKET = ".claude-plugin/marketplace.json"
MANIFEST = ".claude-plugin/plugin.json"


def skill(name: str, description: str = "Does one thing.", extra: str = "") -> str:
    return f"---\nname: {name}\ndescription: {description}\n{extra}---\n# {name}\n"


def listed(root: Path, files: dict[str, Any]) -> Listing:
    """Write a tree, mappings as JSON, and return what it lists."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return read_tree(root, lambda place: LocalOrigin(path=place))


def by_id(listing: Listing) -> dict[str, Listed]:
    return {skill.id: skill for skill in listing.skills}


def market(*plugins: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"name": "m", "owner": {"name": "o"}, "plugins": list(plugins), **fields}


def test_many_plugins_with_keywords_of_their_own(tmp_path: Path) -> None:
    """The layout of laurigates/claude-plugins."""
    words = {"keywords": ["css", "tools"], "category": "web", "tags": ["fast"]}
    found = listed(
        tmp_path,
        {
            MARKET: market({"name": "css", "source": "./css", **words}),
            f"css/{MANIFEST}": {"name": "css", "version": "3.1.0", "keywords": ["css"]},
            "css/skills/unocss/SKILL.md": skill("UnoCSS", extra="tags: atomic\n"),
            "css/skills/lightning-css/SKILL.md": skill("Lightning CSS"),
            "css/skills/release/SKILL.md": skill("release", extra="metadata:\n  internal: true\n"),
            "css/tests/fixtures/broken/SKILL.md": skill("broken"),
        },
    )
    skills = by_id(found)
    assert {name: skill.tags for name, skill in skills.items() if not skill.internal} == {
        "unocss": ["atomic"],
        "lightning-css": [],
    }
    assert [name for name, skill in skills.items() if skill.internal] == ["release"]
    assert {skill.version for skill in found.skills} == {"3.1.0"}


def test_a_plugin_has_agents_and_commands_besides_skills(tmp_path: Path) -> None:
    """The layouts of trailofbits/skills and wshobson/agents."""
    found = listed(
        tmp_path,
        {
            MARKET: market(
                {"name": "audit", "source": "./plugins/audit"}, {"name": "only", "source": "./plugins/only"}
            ),
            f"plugins/audit/{MANIFEST}": {"name": "audit", "author": {"name": "Ada", "email": "a@example.org"}},
            "plugins/audit/skills/fuzzing/SKILL.md": skill("fuzzing"),
            "plugins/audit/skills/c/semgrep/SKILL.md": skill("semgrep"),
            "plugins/audit/agents/reviewer.md": "An agent.",
            "plugins/only/commands/do.md": "A command.",
        },
    )
    assert {name: skill.author for name, skill in by_id(found).items()} == {"fuzzing": "Ada", "semgrep": "Ada"}


def test_one_plugin_gives_its_licence_to_its_skills(tmp_path: Path) -> None:
    """The layout of obra/superpowers. What a skill states itself counts more."""
    found = listed(
        tmp_path,
        {
            MARKET: market({"name": "powers", "source": "./", "version": "9.9.9"}),
            MANIFEST: {"name": "powers", "version": "4.0.3", "license": "MIT", "author": {"name": "Jesse"}},
            "skills/brainstorming/SKILL.md": skill("brainstorming"),
            "skills/own/SKILL.md": skill("own", extra="license: Apache-2.0\nmetadata:\n  version: 1.0.0\n"),
            ".claude/skills/dev/SKILL.md": skill("dev"),
        },
    )
    facts = {name: (skill.version, skill.license, skill.author) for name, skill in by_id(found).items()}
    assert facts == {"brainstorming": ("4.0.3", "MIT", "Jesse"), "own": ("1.0.0", "Apache-2.0", "Jesse")}
    assert any(
        "not offered by the document" in warning and ".claude/skills/dev" in warning for warning in found.warnings
    )


@pytest.mark.parametrize("place", [MANIFEST, "plugin.json"])
@pytest.mark.parametrize("has_document", [True, False])
def test_a_list_of_skills_is_what_a_plugin_offers(tmp_path: Path, place: str, has_document: bool) -> None:
    """The layout of mattpocock/skills."""
    names = ["./skills/engineering/tdd", "skills/engineering/debug/", "./skills/writing"]
    entry = {"name": "matt", "source": "./", "keywords": ["tdd"], "description": "All of them."}
    found = listed(
        tmp_path,
        ({MARKET: market(entry)} if has_document else {})
        | {
            place: {"name": "matt", "version": "1.2", "author": "Matt", "license": "MIT", "skills": names},
            "skills/engineering/tdd/SKILL.md": skill("tdd"),
            "skills/engineering/debug/SKILL.md": skill("debug"),
            "skills/engineering/loose/SKILL.md": skill("loose"),
            "skills/writing/edit/SKILL.md": skill("edit"),
            "skills/writing/deprecated/old/SKILL.md": skill("old"),
            "skills/personal/diary/SKILL.md": skill("diary"),
        },
    )
    facts = {name: (skill.version, skill.license, skill.author, skill.tags) for name, skill in by_id(found).items()}
    assert facts == dict.fromkeys(("tdd", "debug", "edit"), ("1.2.0", "MIT", "Matt", []))


def test_skills_in_the_root_of_a_plugin(tmp_path: Path) -> None:
    """The layout of neo4j-contrib/neo4j-skills."""
    found = listed(
        tmp_path,
        {
            MANIFEST: {"name": "neo4j", "version": "1.1.0", "license": "Apache-2.0", "author": {"name": "Neo4j"}},
            "neo4j-cypher/SKILL.md": skill("neo4j-cypher", "Writes queries: reads and writes."),
            "neo4j-gds/SKILL.md": skill("neo4j-gds"),
        },
    )
    assert {skill.license for skill in found.skills} == {"Apache-2.0"}
    assert by_id(found)["neo4j-cypher"].description == "Writes queries: reads and writes."


def test_skills_by_topic_with_links_for_agents(tmp_path: Path) -> None:
    """The layout of alirezarezvani/claude-skills: links, and what git writes in place of links."""
    files = {f"{topic}/skills/{topic}-one/SKILL.md": skill(f"{topic}-one") for topic in ("engineering", "marketing")}
    text = "../../../engineering/skills/engineering-one/SKILL.md"
    (tmp_path / ".gemini/skills/marketing-one").mkdir(parents=True)
    (tmp_path / ".gemini/skills/marketing-one/SKILL.md").symlink_to("../../../marketing/skills/marketing-one/SKILL.md")
    found = listed(
        tmp_path,
        files
        | {".codex/skills/engineering-one/SKILL.md": text, ".codex/skills/marketing-one": "../../marketing/skills"},
    )
    assert set(by_id(found)) == {"engineering-one", "marketing-one"}
    assert found.warnings == []


def test_the_same_files_for_several_agents_are_one_skill(tmp_path: Path) -> None:
    """A copy that differs is a skill of its own."""
    text, agents = skill("orders"), (".agents", ".claude", ".codex", ".github")
    copies = {f"{agent}/skills/orders/SKILL.md": text for agent in agents}
    other = {".opencode/skills/orders/SKILL.md": skill("orders", "An older state.")}
    found = listed(tmp_path, {"skills/orders/SKILL.md": text, **copies, **other})
    first, second = found.skills
    assert first.origin == LocalOrigin(path="skills/orders")
    assert first.warnings == [f"the same files are in {agent}/skills/orders" for agent in agents]
    assert second.origin == LocalOrigin(path=".opencode/skills/orders")


def test_two_owners_may_have_the_same_files(tmp_path: Path) -> None:
    files = {f"{owner}/pdf/SKILL.md": skill("pdf") for owner in ("alice", "bob")}
    assert set(by_id(listed(tmp_path, files))) == {"pdf", "bob/pdf"}


def test_what_is_no_skill_to_offer_is_counted_with_its_reason(tmp_path: Path) -> None:
    places = [
        *("tests/fixtures/one", "fixtures/two", "skills/a/__fixtures__/three", "template", "templates/four"),
        *("skills/deprecated/five", "node_modules/pkg/skills/six", "skills/in-progress/seven", "skills/a/eight"),
        *("skills/template-engine", "skills/test", "skills/vendor"),
    ]
    found = listed(tmp_path, {f"{place}/SKILL.md": skill(place.rpartition("/")[2]) for place in places})
    assert set(by_id(found)) == {"eight", "template-engine", "test", "vendor"}
    assert sorted(warning.partition(":")[0] for warning in found.warnings) == [
        "1 left out, copies of other packages",
        "1 left out, deprecated or archived",
        "1 left out, not finished",
        "2 left out, templates",
        "3 left out, fixtures of tests",
    ]


def test_a_skill_in_the_root_has_its_own_name_and_all_below_is_its_material(tmp_path: Path) -> None:
    files = {"SKILL.md": skill("Tide Tables"), "examples/x/SKILL.md": skill("x")}
    found = listed(tmp_path / "checkout", files)
    assert {name: skill.origin for name, skill in by_id(found).items()} == {"tide-tables": LocalOrigin(path=".")}
    assert found.warnings == ["1 left out, part of the skill above them: examples/x"]


def test_folders_for_skills_beside_a_skill_in_the_root_have_skills_of_their_own(tmp_path: Path) -> None:
    """nansen-cli 126, OpenCLI 702, gitlab-cli-skills 72: users want all of them, not only the one in the root."""
    pages = {f"{folder}/pages/SKILL.md": skill("pages") for folder in ("skills", ".claude/skills")}
    files = {"SKILL.md": skill("Tide Tables"), "cli/skills/moon/SKILL.md": skill("moon"), **pages}
    files["glab-mr/SKILL.md"] = skill("glab-mr")
    material = {
        f"{place}/SKILL.md": skill("x") for place in ("examples/x", "evals/x", "docs", "cli/skills/moon/skills/x")
    }
    fixture = {"tests/skills/y/SKILL.md": skill("y")}
    found = listed(tmp_path / "checkout", files | material | fixture)
    origins = {name: one.origin for name, one in by_id(found).items()}
    assert origins == {
        "tide-tables": LocalOrigin(path="."),
        "glab-mr": LocalOrigin(path="glab-mr"),
        "moon": LocalOrigin(path="cli/skills/moon"),
        "pages": LocalOrigin(path="skills/pages"),
    }
    assert by_id(found)["pages"].warnings == ["the same files are in .claude/skills/pages"]
    assert sorted(found.warnings) == [
        "1 left out, fixtures of tests: tests/skills/y",
        "3 left out, part of the skill above them: docs, evals/x, examples/x",
    ]


@pytest.mark.parametrize(
    ("entry", "manifest", "names"),
    [
        ({}, {}, {"a", "b"}),
        ({"skills": ["./skills/a"]}, {}, {"a"}),
        ({"skills": "./skills/a"}, {"skills": ["./extra/c"]}, {"a", "c"}),
        ({"skills": ["./skills/a/SKILL.md"], "strict": False}, {"skills": ["./extra/c"]}, {"a"}),
        ({}, {"skills": "./extra"}, {"c"}),
        ({}, {"skills": 5}, {"a", "b"}),
        ({}, {"skills": ["./skills/a", "../../../etc", "/etc"]}, {"a"}),
    ],
)
def test_entry_and_manifest_name_skills_together(
    tmp_path: Path, entry: dict[str, Any], manifest: dict[str, Any], names: set[str]
) -> None:
    files = {f"p/{place}/SKILL.md": skill(place[-1]) for place in ("skills/a", "skills/b", "extra/c")}
    document = market({"name": "p", "source": "./p", **entry})
    found = listed(tmp_path, files | {MARKET: document, f"p/{MANIFEST}": {"name": "p", **manifest}})
    assert set(by_id(found)) == names


@pytest.mark.parametrize(
    ("root", "source"),
    [("./plugins", "office"), ("./plugins", "./office"), ("./plugins", "./plugins/office"), ("", "./plugins/office")],
)
@pytest.mark.parametrize("strict", [True, False])
def test_paths_of_plugins_begin_at_the_root_of_the_repository(
    tmp_path: Path, root: str, source: str, strict: bool
) -> None:
    entry = {"name": "office", "source": source, "strict": strict, "skills": ["./skills/pdf", "extra/csv"]}
    places = ("plugins/office/skills/pdf", "plugins/office/extra/csv", "plugins/office/skills/other", "skills/pdf")
    files = {f"{place}/SKILL.md": skill(place.rpartition("/")[2], place) for place in places}
    decoys = {f".claude-plugin/{place}/SKILL.md": skill("decoy") for place in places}
    document = market(entry, metadata={"pluginRoot": root} if root else {})
    found = listed(tmp_path, files | decoys | {MARKET: document})
    assert {name: one.origin for name, one in by_id(found).items()} == {
        "pdf": LocalOrigin(path="plugins/office/skills/pdf"),
        "csv": LocalOrigin(path="plugins/office/extra/csv"),
    }


@pytest.mark.parametrize(
    ("source", "path", "place"),
    [
        ("./plugins/office", "./plugins/office/skills/pdf", "plugins/office/skills/pdf"),
        ("./plugins/office", "plugins/office/skills/pdf/SKILL.md", "plugins/office/skills/pdf"),
        ("./plugins/office", "./pdf", "plugins/office/skills/pdf"),
        ("./", "./documents/pdf", "skills/documents/pdf"),
        ("./plugins/office", "./skills/documents/pdf", None),  # a folder of the repository, and not of the plugin
        ("./plugins/office", "../../skills/documents/pdf", "skills/documents/pdf"),
        ("./plugins/office", "./documents/pdf", None),
    ],
)
def test_a_path_of_a_skill_may_begin_at_the_root_or_in_the_folder_for_skills(
    tmp_path: Path, source: str, path: str, place: str | None
) -> None:
    entry = {"name": "office", "source": source, "skills": [path]}
    places = ("plugins/office/skills/pdf", "skills/documents/pdf")
    files = {f"{place}/SKILL.md": skill("pdf", place) for place in places}
    found = listed(tmp_path, files | {MARKET: market(entry)})
    assert [one.origin for one in by_id(found).values()] == ([LocalOrigin(path=place)] if place else [])
    assert ("no folder of this source" in " ".join(found.warnings)) is (place is None)


@pytest.mark.parametrize(
    ("document", "manifest", "source"),
    [
        (".agents/plugins/marketplace.json", ".codex-plugin/plugin.json", {"source": "local", "path": "./plugins/o"}),
        (".github/plugin/marketplace.json", ".github/plugin/plugin.json", "./plugins/o"),
        (".plugin/marketplace.json", ".plugin/plugin.json", "plugins/o"),
        ("marketplace.json", "plugin.json", "./plugins/o"),
        (".cursor-plugin/marketplace.json", ".cursor-plugin/plugin.json", "plugins/o"),
    ],
)
def test_marketplaces_and_manifests_of_other_agents(
    tmp_path: Path, document: str, manifest: str, source: object
) -> None:
    files = {
        f"plugins/o/{manifest}": {"name": "o", "version": "2.1.0", "skills": "./tools/"},
        "plugins/o/tools/pdf/SKILL.md": skill("pdf"),
        "plugins/o/drafts/csv/SKILL.md": skill("csv"),
    }
    entry = {"name": "o", "source": source, "policy": {"installation": "AVAILABLE"}, "category": "Office"}
    for each in (listed(tmp_path / "a", files), listed(tmp_path / "b", files | {document: market(entry)})):
        assert {name: one.version for name, one in by_id(each).items()} == {"pdf": "2.1.0"}


def test_the_document_for_claude_describes_a_plugin_that_several_describe(tmp_path: Path) -> None:
    """Each skill is listed once, also where another agent has copies of its own."""
    codex = [{"name": name, "source": {"source": "local", "path": f"./codex/{name}"}} for name in ("o", "copy", "more")]
    places = ("claude/o/skills/pdf", "codex/o/skills/pdf", "codex/copy/skills/pdf", "codex/more/skills/csv")
    found = listed(
        tmp_path,
        {f"{place}/SKILL.md": skill(place.rpartition("/")[2]) for place in places}
        | {
            MARKET: market({"name": "o", "source": "./claude/o", "version": "2.0.0"}),
            ".agents/plugins/marketplace.json": market(*codex),
            ".cursor-plugin/marketplace.json": "{",
        },
    )
    assert {name: one.origin for name, one in by_id(found).items()} == {
        "pdf": LocalOrigin(path="claude/o/skills/pdf"),
        "csv": LocalOrigin(path="codex/more/skills/csv"),
    }
    assert by_id(found)["pdf"].warnings == ["the same files are in codex/copy/skills/pdf"]
    assert not any("cannot be read" in warning for warning in found.warnings)


def test_documents_and_manifests_behind_links_are_not_read(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "plugin.json").write_text(json.dumps({"name": "o", "skills": ["./extra"]}))
    (tmp_path / "tree/.github").mkdir(parents=True)
    (tmp_path / "tree/.github/plugin").symlink_to(outside)
    (tmp_path / "tree/.cursor-plugin").symlink_to(outside)
    found = listed(tmp_path / "tree", {"skills/pdf/SKILL.md": skill("pdf"), "extra/csv/SKILL.md": skill("csv")})
    assert set(by_id(found)) == {"pdf", "csv"}


def test_a_manifest_that_leads_above_its_folder_ends(tmp_path: Path) -> None:
    files = {f"{owner}/{MANIFEST}": {"name": owner, "skills": ["../"]} for owner in ("a", "b")}
    skills = {f"{owner}/skills/{owner}-one/SKILL.md": skill(f"{owner}-one") for owner in ("a", "b")}
    assert len(listed(tmp_path, files | skills).skills) <= 2


@pytest.mark.parametrize("text", ["{", "[]", '{"name": 5}', "\0", "[" * 100_000])
def test_a_broken_manifest_changes_nothing(tmp_path: Path, text: str) -> None:
    found = listed(tmp_path, {MANIFEST: text, "skills/a/SKILL.md": skill("a")})
    assert set(by_id(found)) == {"a"}


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"README.md": "# A", "src/a.py": "1"}, "no folder has a SKILL.md"),
        ({}, "no folder has a SKILL.md"),
        (
            {"skills/cli.md": "---\nname: cli\ndescription: A\n---\n", "skills/b.md": "# B", "README.md": "name: x"},
            "no folder has a SKILL.md, but skills/cli.md: a skill is a folder, such as skills/cli/SKILL.md",
        ),
        (
            {".claude-plugin/plugin.json": {"name": "a"}, "agents/b.md": "---\nname: b\ndescription: B\n---\n"},
            "no folder has a SKILL.md: the commands and agents of plugins are no skills",
        ),
    ],
)
def test_a_tree_without_skills_says_why(tmp_path: Path, files: dict[str, Any], says: str) -> None:
    """Unity-Technologies/skills 8: a repository whose skills were single files."""
    assert listed(tmp_path, files).warnings == [says]


def test_no_link_is_followed_to_say_why_there_are_no_skills(tmp_path: Path) -> None:
    (tmp_path / "out.md").write_text("---\nname: out\ndescription: Out\n---\n")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "in.md").symlink_to("../out.md")
    (tmp_path / "tree" / "above").symlink_to("..")
    os.mkfifo(tmp_path / "tree" / "pipe.md")
    assert listed(tmp_path / "tree", {}).warnings == ["no folder has a SKILL.md"]
