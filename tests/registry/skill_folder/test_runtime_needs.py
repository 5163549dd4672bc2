"""What decides whether a skill can run is read in every form that authors write it."""

import pytest

from registry.domain.runtime_needs import Requirements, RuntimeNeeds
from registry.parsing.frontmatter import read
from registry.skill_folder.reading import runtime_needs


def needs(lines: str) -> RuntimeNeeds:
    return runtime_needs(read(f"---\nname: a\n{lines}\n---\n").fields, {})


@pytest.mark.parametrize(
    ("lines", "requires"),
    [
        ('metadata: {"clawdbot":{"requires":{"bins":["jq"],"anyBins":["a","b"],"env":["KEY"]},"os":["darwin"]}}', 1),
        ("metadata:\n  openclaw:\n    requires: {bins: [jq], any_bins: [a, b], env: [KEY], os: darwin}", 1),
        ("requires:\n  binaries: jq\n  anyBins: a, b\n  envs: [KEY]\nos: [macos]", 1),
        ("metadata:\n  requires: {bins: [jq], anyBins: [a, b]}\n  primaryEnv: KEY\n  platforms: mac", 1),
        ('metadata: \'{"moltbot":{"requires":{"bins":["jq"],"anyBins":["a","b"],"env":["KEY"]},"os":["darwin"]}}\'', 1),
        ("metadata:\n  openclaw: {emoji: x}", 0),
        ("requires: [other-skill]", 0),
        ("requires: some text\nmetadata: text", 0),
    ],
)
def test_requirements_are_read_in_every_form(lines: str, requires: int) -> None:
    expected = Requirements(bins=["jq"], any_bins=["a", "b"], env=["KEY"], os=["macos"])
    assert needs(lines).requires == (expected if requires else None)


@pytest.mark.parametrize(
    ("lines", "agents"),
    [
        ("compatibility: Designed for Claude Code and OpenCode", ["claude-code", "opencode"]),
        ("agents: [Codex, My Agent]", ["codex", "my-agent"]),
        ('metadata: {"clawdis":{"emoji":"x"}}', ["openclaw"]),
        ("compatibility: Needs git", []),
    ],
)
def test_agents_are_read_and_named_alike(lines: str, agents: list[str]) -> None:
    assert needs(lines).agents == agents


def test_the_fields_of_the_format_are_read() -> None:
    found = needs("compatibility: Needs git\nallowed-tools: Bash(git add:*) Read")
    assert (found.compatibility, found.allowed_tools) == ("Needs git", ["Bash(git add:*)", "Read"])
    assert found.model_invocation


@pytest.mark.parametrize(("value", "chosen"), [("true", False), ("True", False), ("yes", False), ("false", True)])
def test_an_author_decides_who_chooses_a_skill(value: str, chosen: bool) -> None:
    assert needs(f"disable-model-invocation: {value}").model_invocation == chosen


def test_lists_of_any_length_are_bounded() -> None:
    found = needs(f"requires: {{bins: [{', '.join(f'b{number}' for number in range(2_000))}]}}")
    assert found.requires is not None
    assert len(found.requires.bins) == 50
