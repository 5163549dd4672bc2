"""Which sources and skills an address names that is pasted into a search."""

from collections.abc import Sequence

import pytest

from registry.domain.source_entry import SourceEntry
from registry.services.pasted_addresses import named_by_address
from search.types import Filter

ENTRIES = [
    SourceEntry(name="vendor", type="git", url="https://github.com/Vendor/skills"),
    SourceEntry(name="old", type="git", url="https://github.com/vendor/skills.git", branch="v1"),
    SourceEntry(name="lab", type="git", url="https://git.example.com/group/sub/tools"),
    SourceEntry(name="hub", type="registry", url="https://skills.example.com/base/"),
    SourceEntry(name="zip", type="zip", url="https://example.com/all.zip"),
    SourceEntry(name="folder", type="local", path="/srv/skills"),
]


@pytest.mark.parametrize(
    ("query", "sources", "names"),
    [
        ("vendor/skills", ["vendor", "old"], []),
        (" VENDOR/Skills ", ["vendor", "old"], []),
        ("vendor/skills@pdf", ["vendor", "old"], ["pdf"]),
        ("github:vendor/skills", ["vendor", "old"], []),
        ("https://www.github.com/vendor/skills/", ["vendor", "old"], []),
        ("http://github.com/vendor/skills.git", ["vendor", "old"], []),
        ("https://github.com/vendor/skills/tree/main", ["vendor", "old"], []),
        ("https://github.com/vendor/skills/tree/main/skills/pdf-tools", ["vendor", "old"], ["pdf tools"]),
        ("https://github.com/vendor/skills/blob/main/skills/pdf/SKILL.md", ["vendor", "old"], ["pdf"]),
        ("vendor/skills/skills/pdf", ["vendor", "old"], ["pdf"]),
        ("npx skills add vendor/skills", ["vendor", "old"], []),
        ("npx -y skills add vendor/skills --skill pdf-tools -a codex -g", ["vendor", "old"], ["pdf tools"]),
        ("$ npx skills add https://github.com/vendor/skills --skill=pdf", ["vendor", "old"], ["pdf"]),
        ("/plugin marketplace add vendor/skills", ["vendor", "old"], []),
        ("git clone https://github.com/vendor/skills.git --depth 1", ["vendor", "old"], []),
        ("skill-registry install vendor/skills@pdf", ["vendor", "old"], ["pdf"]),
        ("https://git.example.com/group/sub/tools/-/tree/main/pdf", ["lab"], ["pdf"]),
        ("https://skills.example.com/base", ["hub"], []),
        ("https://example.com/all.zip", ["zip"], []),
    ],
)
def test_an_address_names_its_sources_and_perhaps_a_skill(
    query: str, sources: Sequence[str], names: Sequence[str]
) -> None:
    named = named_by_address(query, lambda: ENTRIES)
    assert named is not None
    assert (named.place, list(named.names)) == (Filter((tuple(f"source:{source}" for source in sources),)), names)


@pytest.mark.parametrize("query", ["@acme", "@Acme/", "acme/", "acme/*", "npx skills add @acme"])
def test_a_publisher_is_a_scope_or_a_source(query: str) -> None:
    named = named_by_address(query, list)
    assert named is not None
    assert named.place == Filter((("scope:acme", "source:acme"),))


@pytest.mark.parametrize(
    "query",
    [
        "other/skills",
        "vendor/skills fails in CI",
        "fix the build of vendor/skills",
        "and/or",
        "install",
        "npx skills add",
        "npx skills add vendor/skills and then what",
        "@",
        "/",
        "https://",
        "https://[::1",
        "git@github.com:vendor/skills",
        "https://example.com/all.tar.gz",
        "vendor/skills " * 40,
        "/" * 400,
        "@" * 400,
    ],
)
def test_what_is_no_address_of_a_source_names_nothing(query: str) -> None:
    assert named_by_address(query, lambda: ENTRIES) is None
