"""`skill-registry agents`, and what other commands do for the folders of agents."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from registry.cli import command, console
from registry.cli.help.settings_options import Command, settings_options
from registry.cli.installing.rows import FAILED_OUTCOME
from registry.cli.installing.steps import Row
from registry.config.settings import Settings
from registry.domain.agents import AGENTS, Agent, agents_named
from registry.errors import RegistryError
from registry.project.agent_folders import AgentCopies, Places
from registry.project.manifest_file import ManifestFile


def agent_options(function: Command) -> Command:
    """Give a command the options that name agents."""
    agent = click.option(
        "--agent",
        "agents",
        metavar="NAME",
        multiple=True,
        help="Also put skills where this agent reads them: claude, codex, … ('skill-registry agents' lists all).",
    )
    link = click.option("--link", "links", is_flag=True, help="Put links into the folders of agents, not copies.")
    return agent(link(function))


def places_of(settings: Settings, *, is_global: bool) -> Places:
    """Return where the folders of agents are."""
    environment: Mapping[str, str] = click.get_current_context().find_root().obj
    project = None if is_global else settings.project.file.parent
    record = settings.data_dir.absolute() / "agents.json"
    return Places(settings.skills_dir, project, command.home_of(environment), environment, record)


class AgentWork(NamedTuple):
    """What a command does for agents: `copies` is the state before it, `agents` get what it installs."""

    copies: AgentCopies
    agents: Sequence[Agent]
    links: bool

    @classmethod
    def begin(
        cls, settings: Settings, names: Sequence[str] = (), *, links: bool = False, is_global: bool, save: bool = False
    ) -> "AgentWork":
        """Look at the folders of agents, before a command. Exits if a name is that of no agent.

        `names` are agents that get skills besides those of the manifest; with `save`, the manifest names them too.
        """
        file = ManifestFile(settings.project.file)
        try:
            manifest = file.read()
            agents_before = manifest.tool.agents if manifest else []
            links = links or bool(manifest and manifest.tool.agent_links)
            agents = agents_named([*agents_before, *names])
            if save and names and manifest is not None:
                file.set_agents([agent.name for agent in agents], links=links)
        except RegistryError as error:
            command.stop(error.line, command.WRONG_USAGE)
        return cls(AgentCopies(places_of(settings, is_global=is_global)), agents, links)

    def finish(self, rows: Sequence[Row]) -> None:
        """Bring the folders of agents to the state after the command, whose rows these are; say what cannot be done."""
        changes = [row for row in rows if row["outcome"] != FAILED_OUTCOME]
        names = dict.fromkeys(row["folder"] for row in changes if row.get("folder") and "/" not in row["folder"])
        problems = [*self.copies.follow(), *self.copies.place(list(names), self.agents, links=self.links)]
        for problem in dict.fromkeys(problems):
            console.warn(problem)


@click.command()
@command.json_option
@command.global_option
@settings_options("skills_dir", "project.file")
def agents(as_json: bool, is_global: bool, **flags: Any) -> None:
    """Show which agents are used here, and their folders.

    An agent is used if it has made its folder in your home folder, or if the project has a folder for it. 'install
    --agent NAME' puts skills there.
    """
    settings = command.load({**flags, "is_global": is_global})
    places = places_of(settings, is_global=is_global)
    project = settings.project.file.parent
    try:
        manifest = ManifestFile(settings.project.file).read()
        chosen = agents_named(manifest.tool.agents) if manifest else []
    except RegistryError as error:
        command.stop(error.line)
    rows = [_row(agent, places, project, is_chosen=agent in chosen) for agent in AGENTS]
    console.show({"agents": rows}, _table, as_json=as_json)


def _row(agent: Agent, places: Places, project: Path, *, is_chosen: bool) -> Row:
    user = agent.user_folder(places.environment, places.home)
    return {
        "name": agent.name,
        "title": agent.title,
        "used": agent.is_used(places.home, project),
        "chosen": is_chosen,
        "project_folder": agent.project,
        "user_folder": str(user),
        "shown": f"~/{user.relative_to(places.home)}" if user.is_relative_to(places.home) else str(user),
        "project_skills": _count(project / agent.project),
        "user_skills": _count(user),
    }


def _count(folder: Path) -> int:
    try:
        return sum((entry / "SKILL.md").is_file() for entry in folder.iterdir())
    except OSError:
        return 0


def _table(answer: console.Data) -> Iterator[console.Part]:
    rows = []
    for row in answer["agents"]:
        state = ", ".join(word for word in ("used" * row["used"], "chosen" * row["chosen"]) if word)
        counts = (str(row["project_skills"]), str(row["user_skills"]))
        rows.append((row["name"], state, row["project_folder"], row["shown"], *counts))
    yield console.table(("Agent", "State", "In a project", "For all projects", "Skills", "For all"), rows)
