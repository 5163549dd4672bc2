"""The agents that read skills from folders: where each looks for them, in a project and for all projects of a user.

The folders are those that the documentation of each agent names, and the one that only this agent reads where there are
several. Several agents read `.agents/skills`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple

from registry.errors import FieldError, validation_error

SHARED = ".agents/skills"
"""The folder that several agents read, in a project and below the home folder."""


RuleFileKind = Literal["mdc", "agents", "claude"]
"""A file of a project that agents read: that of editors, AGENTS.md or CLAUDE.md."""

RULE_FILES: Mapping[RuleFileKind, str] = MappingProxyType(
    {"mdc": ".cursor/rules/skills.mdc", "agents": "AGENTS.md", "claude": "CLAUDE.md"}
)
"""The path of each rule file below the project's folder."""


class Agent(NamedTuple):
    """An agent.

    Args:
        name: Its name in options and manifests.
        title: Its name for people.
        project: The folder of its skills, from the folder of the project.
        user: The folder of its skills for all projects, from the home folder, or from the place in `variable`.
        signs: The files and folders below the home folder that it makes, which say that the user has it.
        others: Other names that people know it by.
        variable: The variable and the part of `user` that it replaces, such as `CLAUDE_CONFIG_DIR` for `.claude`.
    """

    name: str
    title: str
    project: str
    user: str
    signs: tuple[str, ...]
    others: tuple[str, ...] = ()
    variable: tuple[str, str] | None = None

    def user_folder(self, environment: Mapping[str, str], home: Path) -> Path:
        """Return the folder of its skills for all projects."""
        if self.variable is not None:
            name, place = self.variable
            if environment.get(name):
                return Path(environment[name]) / Path(self.user).relative_to(place)
        return home / self.user

    def is_used(self, home: Path, project: Path) -> bool:
        """Return whether the user has it: on this machine, or in a project by a folder of its own."""
        own = Path(self.project).parts[0]
        is_in_project = self.project != SHARED and (project / own).is_dir() and own != ".github"
        return is_in_project or any((home / sign).exists() for sign in self.signs)


_XDG = ("XDG_CONFIG_HOME", ".config")

AGENTS: Sequence[Agent] = (
    Agent(
        *("claude", "Claude Code", ".claude/skills", ".claude/skills", (".claude",), ("claude-code",)),
        ("CLAUDE_CONFIG_DIR", ".claude"),
    ),
    Agent("codex", "Codex", SHARED, SHARED, (".codex",)),
    Agent(
        "copilot", "GitHub Copilot", ".github/skills", ".copilot/skills", (".copilot",), ("github-copilot", "github")
    ),
    Agent("gemini", "Gemini CLI", ".gemini/skills", ".gemini/skills", (".gemini",), ("gemini-cli",)),
    Agent("cursor", "Cursor", ".cursor/skills", ".cursor/skills", (".cursor",)),
    Agent(
        *("opencode", "OpenCode", ".opencode/skills", ".config/opencode/skills", (".config/opencode",), (), _XDG),
    ),
    Agent("amp", "Amp", SHARED, ".config/agents/skills", (".config/amp",), (), _XDG),
    Agent("goose", "Goose", ".goose/skills", ".config/goose/skills", (".config/goose",), (), _XDG),
    Agent("windsurf", "Windsurf", ".windsurf/skills", ".codeium/windsurf/skills", (".codeium/windsurf",)),
    Agent("roo", "Roo Code", ".roo/skills", ".roo/skills", (".roo",), ("roo-code",)),
    Agent("kilo", "Kilo Code", SHARED, ".kilo/skills", (".kilo", ".kilocode"), ("kilo-code",)),
    Agent("kiro", "Kiro", ".kiro/skills", ".kiro/skills", (".kiro",), ("kiro-cli",)),
    Agent("shared", "every agent that reads .agents", SHARED, SHARED, (".agents",), ("agents", "universal")),
)
"""Every agent that `install --agent` knows."""


def agents_named(names: Sequence[str], field: str = "agents") -> list[Agent]:
    """Return the agents with these names, each once. Raises VALIDATION_ERROR for a name of none."""
    by_name = {name: agent for agent in AGENTS for name in (agent.name, *agent.others)}
    unknown = [name for name in names if name.lower() not in by_name]
    if unknown:
        agent_names = ", ".join(agent.name for agent in AGENTS)
        raise validation_error(FieldError(field, f"'{unknown[0][:64]}' is no agent that is known: {agent_names}"))
    return list(dict.fromkeys(by_name[name.lower()] for name in names))
