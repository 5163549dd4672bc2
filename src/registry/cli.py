"""The command `skill-registry`. Exit codes: 0 done, 1 it failed, 2 wrong use or configuration, 3 found nothing."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, TypeVar, cast

import click

from embeddings import EmbeddingUnavailable
from registry import __version__, console
from registry.answers import SearchBody
from registry.client import CommandFailed, closing_services, open_target
from registry.data_dir import DataDirInUse, DataDirLock
from registry.db import DatabaseUnusable
from registry.settings import SETTINGS, Setting, Settings, SettingsError, load_settings
from search.types import Mode

FAILED, WRONG_USE, NOTHING_FOUND = 1, 2, 3

_Command = TypeVar("_Command", bound=Callable[..., Any])

_SHARED = ("skills_dir", "data_dir", "embedding.provider", "embedding.model")


def _parameter(key: str) -> str:
    """Return the name of a setting as a Python parameter."""
    return key.replace(".", "__")


def _option(setting: Setting) -> Callable[[_Command], _Command]:
    flag = cast(str, setting.flag)
    several = setting.type is tuple
    switch = setting.type is bool
    return click.option(
        flag,
        _parameter(setting.key),
        default=None,
        multiple=several,
        is_flag=switch,
        flag_value=True if switch else None,
        metavar=None if switch else setting.expected.upper(),
        help=f"{setting.description[0].upper()}{setting.description[1:]}.",
    )


def _settings_options(*keys: str) -> Callable[[_Command], _Command]:
    """Give a command the flags of these settings, or of all."""

    def add(command: _Command) -> _Command:
        for setting in reversed(SETTINGS):
            if setting.flag and (not keys or setting.key in keys):
                command = _option(setting)(command)
        return click.option("--config", type=click.Path(path_type=Path, dir_okay=False), help="Configuration file.")(
            command
        )

    return add


def _load(flags: dict[str, Any]) -> Settings:
    config = flags.pop("config", None)
    given = {setting.key: flags.get(_parameter(setting.key)) for setting in SETTINGS}
    try:
        return load_settings(given, os.environ, config)
    except SettingsError as error:
        _stop(str(error), WRONG_USE)


def _stop(message: str, code: int = FAILED) -> NoReturn:
    click.echo(f"skill-registry: {message}", err=True)
    sys.exit(code)


_server = click.option("--server", metavar="URL", help="A running server, instead of the data directory.")
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="skill-registry")
def main() -> None:
    """Find, trust and install skills for coding agents.

    \b
    skill-registry serve --skills-dir ~/.claude/skills
    skill-registry search "turn a pdf into text"
    """


@main.command()
@_settings_options()
def serve(**flags: Any) -> None:
    """Serve the catalog over HTTP.

    Every flag can also be set in the environment or in registry.toml. The folders below --skills-dir that hold a
    SKILL.md are the skills; changes on disk are picked up while the service runs.
    """
    from registry.run import StartError, run  # noqa: PLC0415 - the web framework is not needed by other commands

    settings = _load(flags)
    try:
        sys.exit(run(settings))
    except (StartError, EmbeddingUnavailable, DatabaseUnusable, DataDirInUse) as error:
        _stop(str(error))
    except OSError as error:
        _stop(f"the service cannot start: {error}")


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
@_json
@_server
@_settings_options(*_SHARED)
def search(query: str, limit: int, mode: str, as_json: bool, server: str | None, **flags: Any) -> None:
    """Find the skills that fit QUERY, best first. Exit code 3: nothing fits."""
    if not 1 <= len(query.strip()) <= 2000 or not _is_unicode(query):
        _stop("the query must be 1 to 2,000 characters of UTF-8 text", WRONG_USE)
    body = SearchBody(query=query, limit=limit, mode=cast(Mode, mode))
    found = _with_target(flags, server, lambda target: target.search(body))
    console.show(found, console.search_table, as_json=as_json)
    if not found["skills"]:
        sys.exit(NOTHING_FOUND)


def _is_unicode(text: str) -> bool:
    """Return whether an argument was valid in the terminal's encoding: Python stands surrogates in for other bytes."""
    return not any("\ud800" <= sign <= "\udfff" for sign in text)


@main.command()
@click.argument("skill_id", required=False)
@click.option("--force", is_flag=True, help="Embed every text again, changed or not.")
@_json
@_server
@_settings_options(*_SHARED)
def reindex(skill_id: str | None, force: bool, as_json: bool, server: str | None, **flags: Any) -> None:
    """Make search right for SKILL_ID, or for all skills."""
    with console.progress_bar("Embedding", hidden=as_json) as progress:
        result = _with_target(flags, server, lambda target: target.reindex(skill_id, force=force, progress=progress))
    console.show(result, console.facts_table, as_json=as_json)
    if result["failed"]:
        _stop(f"{result['failed']} texts could not be embedded: {'; '.join(result['errors'])}")


@main.command()
@_json
@_settings_options(*_SHARED)
def scan(as_json: bool, **flags: Any) -> None:
    """Read the skills directory once; list what was skipped and what was untidy, and why."""
    settings = _load(flags)
    if not settings.skills_dir.is_dir():
        _stop(f"there is no folder {settings.skills_dir}: name one with --skills-dir")
    try:
        with closing_services(settings, DataDirLock(settings.data_dir)) as services:
            report = services.scanner.reconcile()
            warnings = services.catalog.warnings()
    except (DataDirInUse, DatabaseUnusable, EmbeddingUnavailable, OSError) as error:
        _stop(str(error))
    console.show(console.scan_answer(report, warnings), console.scan_tables, as_json=as_json)


@main.command()
@_json
@_server
@_settings_options(*_SHARED)
def status(as_json: bool, server: str | None, **flags: Any) -> None:
    """Show how the catalog and its indexes stand."""
    answer = _with_target(flags, server, lambda target: target.status())
    console.show(answer, console.status_tables, as_json=as_json)


def _with_target(flags: dict[str, Any], server: str | None, call: Callable[[Any], Any]) -> Any:
    settings = _load(flags)
    try:
        with open_target(settings, server) as target:
            return call(target)
    except (CommandFailed, DatabaseUnusable, EmbeddingUnavailable, OSError) as error:
        _stop(str(error))
