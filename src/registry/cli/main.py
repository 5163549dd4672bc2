"""The command `skill-registry`. Exit codes: 0 done, 1 it failed, 2 wrong use or configuration, 3 found nothing."""

import os
import sys
from typing import Any, cast

import click

from embeddings import EmbeddingUnavailable
from registry import __version__
from registry.cli import console
from registry.cli.accounts import keys, token, users
from registry.cli.client import closing_services
from registry.cli.command import (
    NOTHING_FOUND,
    SHARED_SETTINGS,
    WRONG_USE,
    json_option,
    load,
    server_option,
    settings_options,
    stop,
    with_target,
)
from registry.cli.database import forget_secrets, migrate
from registry.cli.embed import embed
from registry.cli.fsck import fsck
from registry.cli.install import install, uninstall, upgrade
from registry.cli.jobs import jobs
from registry.cli.login import login, logout
from registry.cli.operations import backup, clone_index
from registry.cli.project import generate_mdc, lock, verify
from registry.cli.publish import publish, unyank, yank
from registry.cli.sources import sources
from registry.db import DatabaseUnusable
from registry.domain.file_names import is_text, printable_name
from registry.runtime.data_dir import DataDirInUse, DataDirLock
from registry.services.schemas import SearchBody
from search.modes import Mode


class _TextArguments(click.Group):
    """Refuses arguments that are not UTF-8: no catalog, server or address takes them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does. Exits with the code of wrong use."""
        for one in args:
            if not is_text(one):
                stop(f"the argument {printable_name(one)} is not UTF-8 text", WRONG_USE)
        return super().parse_args(ctx, args)


@click.group(cls=_TextArguments, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="skill-registry")
@click.pass_context
def main(context: click.Context) -> None:
    """Find, trust and install skills for coding agents.

    \b
    skill-registry serve --skills-dir ~/.claude/skills
    skill-registry search "turn a pdf into text"
    """
    context.obj = os.environ


@main.command()
@settings_options()
def serve(**flags: Any) -> None:
    """Serve the catalog over HTTP.

    Every flag can also be set in the environment or in registry.toml. The folders below --skills-dir that hold a
    SKILL.md are the skills; changes on disk are picked up while the service runs.
    """
    from registry.server.run import StartError, run  # noqa: PLC0415 - the web framework is not needed by other commands

    settings = load(flags)
    try:
        sys.exit(run(settings))
    except (StartError, EmbeddingUnavailable, DatabaseUnusable, DataDirInUse) as error:
        stop(str(error))
    except OSError as error:
        stop(f"the service cannot start: {error}")


@main.command()
@click.argument("query")
@click.option("--limit", default=10, show_default=True, type=click.IntRange(1, 100), help="How many results.")
@click.option(
    "--mode",
    default="auto",
    show_default=True,
    type=click.Choice(["auto", "hybrid", "semantic", "keyword"]),
    help="Rank by words, by meaning, or both.",
)
@json_option
@server_option
@settings_options(*SHARED_SETTINGS)
def search(query: str, limit: int, mode: str, as_json: bool, server: str | None, **flags: Any) -> None:
    """Find the skills that fit QUERY, best first. Exit code 3: nothing fits."""
    if not 1 <= len(query.strip()) <= 2000:
        stop("the query must be 1 to 2,000 characters", WRONG_USE)
    body = SearchBody(query=query, limit=limit, mode=cast(Mode, mode))
    found = with_target(flags, server, lambda target: target.search(body))
    console.show(found, console.search_table, as_json=as_json)
    if not found["skills"]:
        sys.exit(NOTHING_FOUND)


@main.command()
@click.argument("skill_id", required=False)
@click.option("--force", is_flag=True, help="Embed every text again, changed or not.")
@json_option
@server_option
@settings_options(*SHARED_SETTINGS)
def reindex(skill_id: str | None, force: bool, as_json: bool, server: str | None, **flags: Any) -> None:
    """Make search right for SKILL_ID, or for all skills."""
    with console.progress_bar("Embedding", hidden=as_json) as progress:
        result = with_target(flags, server, lambda target: target.reindex(skill_id, force=force, progress=progress))
    console.show(result, console.facts_table, as_json=as_json)
    if result["failed"]:
        stop(f"{result['failed']} texts could not be embedded: {'; '.join(result['errors'])}")


@main.command()
@json_option
@settings_options(*SHARED_SETTINGS)
def scan(as_json: bool, **flags: Any) -> None:
    """Read the skills directory once; list what was skipped and what was untidy, and why."""
    settings = load(flags)
    if not settings.skills_dir.is_dir():
        stop(f"there is no folder {settings.skills_dir}: name one with --skills-dir")
    try:
        with closing_services(settings, DataDirLock(settings.data_dir)) as services:
            report = services.scan()
            warnings = services.catalog.warnings()
    except (DataDirInUse, DatabaseUnusable, EmbeddingUnavailable, OSError) as error:
        stop(str(error))
    if report is None:
        stop("a running service on this database reads its skills directory: this one is not looked at")
    console.show(console.scan_answer(report, warnings), console.scan_tables, as_json=as_json)


@main.command()
@json_option
@server_option
@settings_options(*SHARED_SETTINGS)
def status(as_json: bool, server: str | None, **flags: Any) -> None:
    """Show how the catalog and its indexes stand."""
    answer = with_target(flags, server, lambda target: target.status())
    console.show(answer, console.status_tables, as_json=as_json)


for one in (
    *(sources, install, uninstall, upgrade, lock, verify, generate_mdc),
    *(publish, yank, unyank, jobs, keys, users, token),
    *(migrate, forget_secrets, fsck, backup, clone_index, login, logout, embed),
):
    main.add_command(one)
