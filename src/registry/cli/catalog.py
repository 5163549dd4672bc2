"""`skill-registry search`, `reindex`, `scan`, `status` and `generate`: commands that read or index a catalog."""

import sys
from collections.abc import Iterator
from typing import Any, cast, get_args

import click
import msgspec

from registry.cli import command, console
from registry.cli.backend import CommandBackend, CommandFailed, Data, Needs
from registry.cli.help.known_names import complete_installed
from registry.cli.help.settings_options import Command, settings_options
from registry.cli.search.explained import explained_tables
from registry.cli.search.filters import filter_options, taken_filters, tell_of_unknown_sources
from registry.cli.search.login_hits import with_login_hits
from registry.cli.search.results import is_relevant, show_results
from registry.domain.agents import RuleFileKind
from registry.domain.counts import counted
from registry.runtime.data_dir import DataDirInUse, DataDirLock, running_server
from registry.services.schemas import SearchBody, Sort
from search.modes import Mode


@click.command()
@click.argument("query")
@click.option("--limit", default=10, show_default=True, type=click.IntRange(1, 100), help="Maximum number of results.")
@click.option(
    "--mode",
    default="auto",
    show_default=True,
    type=click.Choice(["auto", "hybrid", "semantic", "keyword"]),
    help="Rank by keywords, by meaning, or by both.",
)
@filter_options
@click.option(
    "--sort",
    default="relevance",
    show_default=True,
    type=click.Choice(get_args(Sort)),
    help="Another order than the best first; it leaves out weak matches.",
)
@click.option("--weak", is_flag=True, help="Also show weak matches: those that any query finds.")
@click.option("--no-group", is_flag=True, help="Give each near-copy of a skill a place of its own.")
@click.option("--explain", is_flag=True, help="Show why each result has its rank.")
@command.json_option
@command.server_option
@settings_options(*command.SHARED_SETTINGS)
def search(
    query: str,
    limit: int,
    mode: str,
    weak: bool,
    no_group: bool,
    explain: bool,
    as_json: bool,
    server: str | None,
    **flags: Any,
) -> None:
    """List the skills that match QUERY, best first. Exit code 3: nothing relevant was found.

    With a login, its registry is searched too, unless --server, --data-dir, --source or --installed choose a place.

    In a pipe, each result is a line of tab-separated fields: id, version, score, relevance, matched by, description,
    risk, withdrawn.
    """
    if not query.strip():
        command.stop("the query must be 1 character or more", command.WRONG_USAGE)
    filters = taken_filters(flags)
    body = SearchBody(
        query=query,
        limit=limit,
        mode=cast(Mode, mode),
        filters=filters,
        explain=explain,
        group=not no_group,
        sort=flags.pop("sort"),
    )
    settings = command.load(dict(flags))
    is_local = bool(filters.installed or filters.source)
    login_server = None if is_local else command.registry_of_login(settings, server, flags)

    def search_here(backend: CommandBackend) -> Data:
        answer = backend.search(body)
        if not answer["skills"]:
            tell_of_unknown_sources(backend, filters)
        return answer

    results = command.with_backend(flags, server, search_here, reads=True, asks_login=login_server is not None)
    if login_server is not None:
        results = with_login_hits(settings, login_server, body, results)
    if as_json or explain:
        console.show(results, explained_tables, as_json=as_json)
    else:
        show_results(results, weak=weak)
    if not any(map(is_relevant, results["skills"])):
        sys.exit(command.NO_RESULTS)


@click.command()
@click.argument("skill_id", required=False, shell_complete=complete_installed)
@click.option("--force", is_flag=True, help="Embed every text again, even if it has not changed.")
@command.json_option
@command.server_option
@settings_options(*command.SHARED_SETTINGS)
def reindex(skill_id: str | None, force: bool, as_json: bool, server: str | None, **flags: Any) -> None:
    """Update the search indexes for one skill or all."""
    with console.progress_bar("Embedding", hidden=as_json) as progress:
        result = command.with_backend(
            flags, server, lambda backend: backend.reindex(skill_id, force=force, progress=progress)
        )
    console.show(result, console.facts_table, as_json=as_json)
    if result["failed"]:
        command.stop(f"{counted(result['failed'], 'text')} could not be embedded: {'; '.join(result['errors'])}")


@click.command()
@command.json_option
@settings_options(*command.SHARED_SETTINGS)
def scan(as_json: bool, **flags: Any) -> None:
    """Read the skills directory once. List skipped folders and problems, with the reasons."""
    settings = command.load(flags)
    if (url := running_server(settings.data_dir)) is not None:
        command.stop(
            f"{url} runs on {settings.data_dir.name} and reads its skills directory by itself: 'skill-registry status' "
            "lists what it skipped"
        )
    if not settings.skills_dir.is_dir():
        command.stop(f"there is no folder {settings.skills_dir}: set --skills-dir")
    from registry.cli.local_backend import open_services  # noqa: PLC0415 - loads the search engine

    try:
        with open_services(settings, DataDirLock.wait(settings.data_dir)) as services:
            report = services.scan()
            warnings = services.catalog.warnings()
    except (CommandFailed, DataDirInUse, OSError) as error:
        command.stop(error)
    if report is None:
        command.stop("a running service on this database reads its own skills directory: nothing was scanned")
    console.show({**msgspec.to_builtins(report), "warnings": warnings}, _scan_tables, as_json=as_json)


def _scan_tables(report: console.Data) -> Iterator[console.Part]:
    yield from console.problems_table("Skipped", report["skipped"])
    yield from console.problems_table("Warnings", {key: "; ".join(texts) for key, texts in report["warnings"].items()})
    yield from console.facts_table(report)  # last: a long table would push it off the screen


@click.command()
@command.json_option
@command.server_option
@settings_options(*command.SHARED_SETTINGS)
def status(as_json: bool, server: str | None, **flags: Any) -> None:
    """Show the state of the catalog and its indexes."""
    answer = command.with_backend(flags, server, lambda backend: backend.status(), reads=True)
    console.show(answer, _status_tables, as_json=as_json)


def _status_tables(answer: console.Data) -> Iterator[console.Part]:
    """Yield the state of the service, the parts that do not work, and the folders that the last scan skipped."""
    embedding = answer["embedding"]
    model = f"{embedding['provider']} {embedding['model']} ({embedding['dim']})" if embedding["provider"] else "none"
    yield from console.facts_table({**answer, "embedding": model})
    yield from console.problems_table("Does not work", answer.get("problems", {}))
    yield from console.problems_table("Skipped", answer["skipped"])


def _generate_options(function: Command) -> Command:
    settings = settings_options(*command.SHARED_SETTINGS, "project.file")
    return command.json_option(command.server_option(settings(function)))


@click.command()
@click.argument("file", type=click.Choice(get_args(RuleFileKind)), default="mdc")
@_generate_options
def generate(file: RuleFileKind, as_json: bool, server: str | None, **flags: Any) -> None:
    """Write a file for agents that lists the skills.

    \b
    mdc     .cursor/rules/skills.mdc, for editors
    agents  a block in AGENTS.md, whose other text stays
    claude  a block in CLAUDE.md, whose other text stays
    """
    answer = command.with_backend(flags, server, lambda backend: backend.generate(file), Needs(indexes=False))
    console.show(answer, _rule_file_table, as_json=as_json)


@click.command("generate-mdc", hidden=True)
@_generate_options
def generate_mdc(as_json: bool, server: str | None, **flags: Any) -> None:
    """Write the rule file for editors, as `generate mdc` does."""
    click.get_current_context().invoke(generate, file="mdc", as_json=as_json, server=server, **flags)


def _rule_file_table(answer: console.Data) -> Iterator[console.Part]:
    yield f"{counted(answer['skills_count'], 'skill')} in {answer['path']}"
