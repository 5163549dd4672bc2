"""`skill-registry list`, `show`, `versions` and `open`: the installed skills, one skill, its versions, its page."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast, get_args
from urllib.parse import quote

import click

from registry.cli import command, console
from registry.cli.backend import CommandBackend, CommandFailed, Data, Needs, Wanted
from registry.cli.help.known_names import complete_known
from registry.cli.help.settings_options import settings_options
from registry.cli.remote import answers
from registry.cli.remote.backend import RemoteBackend
from registry.cli.remote.client import connect
from registry.cli.risk import place, warn_of_withdrawal, withdrawal_of, withdrawal_remark
from registry.cli.search.filters import filter_options, taken_filters, tell_of_unknown_sources
from registry.cli.search.results import show_list
from registry.cli.search.similar_ids import naming_similar, with_similar
from registry.cli.user_registries import skill_and_server
from registry.config.settings import Settings
from registry.domain.api import API
from registry.domain.withdrawals import is_revoked
from registry.runtime.data_dir import running_server
from registry.services.schemas import ListSort, SearchFilters

_SHOWN_VERSIONS = 10
_FACTS = (
    *("id", "name", "version", "description", "author", "license", "tags", "capabilities", "source", "installed"),
    *("enabled", "skill_file", "source_url", "source_branch", "editable", "download_url", "created_at", "updated_at"),
)


@click.command("list")
@click.option(
    "--limit",
    metavar="NUMBER",
    type=click.IntRange(1),
    help="At most this many skills. Default: all.",
)
@filter_options
@click.option("--sort", type=click.Choice(get_args(ListSort)), help="The order. Default: by id.")
@command.json_option
@command.server_option
@command.global_option
@settings_options(*command.SHARED_SETTINGS, "project.file")
def list_all(limit: int | None, sort: str | None, as_json: bool, server: str | None, **flags: Any) -> None:
    """List the installed skills. In a pipe, each is a line of tab-separated fields.

    With filters or --sort, the list has all skills that a search can find, also those that sources only list, unless
    --installed leaves them out.

    The fields are id, version, risk, source, description and withdrawn. With --json, each skill also has the folders
    of agents that have it too.
    """
    filters = taken_filters(flags)
    selection = None if filters == SearchFilters() and sort is None else Wanted(filters, cast("ListSort | None", sort))
    needs = Needs(indexes=selection is not None)
    settings, is_global = command.load(dict(flags)), flags["is_global"]

    def read_list(backend: CommandBackend) -> tuple[list[Data], int]:
        cards, total = backend.list_skills(limit, selection)
        if not cards:
            tell_of_unknown_sources(backend, filters)
        return cards, total

    cards, total = command.with_backend(flags, server, read_list, needs, reads=True)
    if server is None:
        cards = _with_agents(cards, settings, is_global=is_global)
    answer = {"total": total, "skills": cards if sort else sorted(cards, key=lambda card: str(card["id"]))}
    if as_json:
        console.show(answer, console.facts_table, as_json=True)
        return
    show_list(answer)
    for card in answer["skills"]:
        if card["installed"]:
            warn_of_withdrawal(card)
    held = Counter(folder for card in cards for folder in card.get("agent_folders", ()))
    for folder, count in sorted(held.items()):
        console.note(f"{folder} has {count} of these skills too, for agents")


def _with_agents(cards: Sequence[Data], settings: Settings, *, is_global: bool) -> list[Data]:
    """Return the cards of skills of this machine, each with the folders of agents that have it too."""
    from registry.cli.installing.agents import places_of  # noqa: PLC0415 - loads the reader of skills
    from registry.project.agent_folders import AgentCopies  # noqa: PLC0415

    copies = AgentCopies(places_of(settings, is_global=is_global))
    return [{**card, "agent_folders": copies.holders(str(card["id"]))} for card in cards]


@click.command()
@click.argument("skill_id", metavar="ID[@VERSION]", shell_complete=complete_known)
@click.option("--content", is_flag=True, help="Print the SKILL.md, and nothing else.")
@command.json_option
@command.server_option
@settings_options(*command.SHARED_SETTINGS)
def show(skill_id: str, content: bool, as_json: bool, server: str | None, **flags: Any) -> None:
    """Show a skill in full, with what was found in it. With a version, show what that version says of itself.

    What the data directory does not have is looked up in the registry of your login.
    """
    skill_id, server = skill_and_server(skill_id, server)
    skill_id, version = _split(skill_id)

    def read(backend: CommandBackend) -> Data:
        try:
            if content:
                return {"content": backend.content(skill_id, version)}
            return backend.skill(skill_id) if version is None else backend.version(skill_id, version)
        except CommandFailed as error:
            raise (error if version is None else _with_versions(backend, error, skill_id)) from None

    answer = _read(flags, server, skill_id, read)
    if content and not as_json:
        click.echo(_for_output(answer["content"]), nl=False, color=True)  # as it is: a pipe gets every byte
    else:
        console.show(answer, _skill_tables if version is None else _version_tables, as_json=as_json)


@click.command()
@click.argument("skill_id", metavar="ID", shell_complete=complete_known)
@command.json_option
@command.server_option
@settings_options(*command.SHARED_SETTINGS)
def versions(skill_id: str, as_json: bool, server: str | None, **flags: Any) -> None:
    """List the versions of a skill, the newest first. Versions that were withdrawn are not listed."""
    skill_id, server = skill_and_server(skill_id, server)
    skill_id, _ = _split(skill_id)

    def read(backend: CommandBackend) -> Data:
        return {"versions": backend.versions(skill_id)}

    console.show(_read(flags, server, skill_id, read), _versions_table, as_json=as_json)


def _with_versions(backend: CommandBackend, error: CommandFailed, skill_id: str) -> CommandFailed:
    """Return the error for an unknown version with the newest ones of the skill, if that exists."""
    if error.code != "SKILL_NOT_FOUND":
        return error
    try:
        numbers = [str(version["version"]) for version in backend.versions(skill_id)]
    except CommandFailed:
        return error
    more = ", …" if len(numbers) > _SHOWN_VERSIONS else ""
    return CommandFailed(f"{error}; its versions: {', '.join(numbers[:_SHOWN_VERSIONS])}{more}", error.code)


def _split(text: str) -> tuple[str, str | None]:
    """Return the id and the version of `ID@VERSION`, None without one."""
    skill_id, at, version = text.rpartition("@")
    return (skill_id, version) if at else (text, None)


@click.command("open")
@click.argument("skill", metavar="[ID[@VERSION]]", default="", shell_complete=complete_known)
@click.option("--print", "is_printed", is_flag=True, help="Print the address, and open nothing.")
@command.registry_option
@settings_options("data_dir")
def open_page(skill: str, is_printed: bool, server: str | None, **flags: Any) -> None:
    """Open the page of a skill in the browser, or that of the service. It prints the address.

    \b
    skill-registry open
    skill-registry open acme/pdf-forms
    """
    skill, server = skill_and_server(skill, server)
    settings = command.load(dict(flags))
    try:
        address = command.server_of(settings, server, flags)
        with connect(settings, address, is_own=address == running_server(settings.data_dir)) as client:
            if skill:
                client.call(answers.Skill, "GET", f"{API}/skills/{quote(_split(skill)[0])}")
            page = f"{client.base}/skills/{quote(skill, safe='/@')}" if skill else f"{client.base}/"
    except (CommandFailed, OSError) as error:
        command.stop(error)
    click.echo(page)
    if not is_printed and click.launch(page) != 0:
        console.note("no browser could be opened")


def _read(flags: dict[str, Any], server: str | None, skill_id: str, read: Callable[[CommandBackend], Data]) -> Data:
    """Return what a catalog says of a skill: the data directory, else the registry of the login. Exits on failures."""
    settings = command.load(dict(flags))
    login_server = command.registry_of_login(settings, server, flags)

    def read_here(backend: CommandBackend) -> Data | None:
        try:
            return read(backend)
        except CommandFailed as error:
            if login_server is None or error.code != "SKILL_NOT_FOUND":
                raise with_similar(backend, error, skill_id) from None
            return None

    needs, asks = Needs(indexes=False), login_server is not None
    answer: Data | None = command.with_backend(flags, server, read_here, needs, reads=True, asks_login=asks)
    if answer is not None or login_server is None:
        return answer or {}
    console.note(f"{settings.data_dir.name} does not have it: asking {login_server} (your login)")
    try:
        with connect(settings, login_server) as client:
            registry = RemoteBackend(client, settings)
            with naming_similar(registry, skill_id):
                return read(registry)
    except CommandFailed as error:
        command.stop(error)


def _versions_table(answer: console.Data) -> Iterator[console.Part]:
    rows = [(version["version"], version["created_at"], version["description"]) for version in answer["versions"]]
    yield console.table(("Version", "Since", "Description"), rows)


def _version_tables(version: console.Data) -> Iterator[console.Part]:
    yield from console.facts_table({("id" if name == "skill_id" else name): value for name, value in version.items()})
    if remark := withdrawal_remark(version):
        yield remark
    yield from version.get("changes", [])
    if "/" in version["skill_id"] and not is_revoked(withdrawal_of(version)):
        yield f"Install it: skill-registry install {version['skill_id']}@{version['version']}"


def _for_output(text: str) -> str:
    """Return a text as it is for another program, and with escapes for a terminal."""
    return console.printable_lines(text) if sys.stdout.isatty() else text


def _skill_tables(skill: console.Data) -> Iterator[console.Part]:
    facts = {name: skill[name] for name in _FACTS if skill.get(name) not in (None, "", [])}
    facts |= {name: ", ".join(map(str, value)) for name, value in facts.items() if isinstance(value, list)}
    findings = skill["findings"]
    yield from console.facts_table({**facts, "risk": findings["risk"] if findings else "not scanned yet"})
    if remark := withdrawal_remark(skill):
        yield remark
    for warning in skill["warnings"]:
        yield console.line(("warning:", "yellow"), f" {warning}")
    if findings and findings["findings"]:
        rows = (
            (finding["severity"], finding["rule"], place(finding), finding["message"])
            for finding in findings["findings"]
        )
        yield console.table(("Severity", "Rule", "Place", "Finding"), rows)
    if not skill["installed"] and not skill.get("installable", True):
        yield f"It cannot be installed: {skill['not_installable']}"
    elif not skill["installed"]:
        yield f"Install it: skill-registry install {skill['id']}"
