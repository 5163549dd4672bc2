"""`skill-registry upgrade` and `outdated`: bring skills up to date, or say which could be."""

import sys
from collections.abc import Iterator
from typing import Any

import click

from registry.cli import command, console
from registry.cli.backend import CREATES, CommandBackend, Data
from registry.cli.help.known_names import complete_installed
from registry.cli.installing.agents import AgentWork
from registry.cli.installing.local_changes import has_local_changes, ways_on
from registry.cli.installing.rows import ask_of_withdrawals, exit_if_failed, installing_options, rows_shown
from registry.cli.risk import warn_of_risk, warn_of_withdrawal
from registry.cli.search.similar_ids import naming_similar
from registry.cli.server_choice import has_catalog
from registry.cli.user_registries import installed_skill, registries_of
from registry.config.settings import Settings
from registry.install.schemas import NOT_INSTALLED, UpgradeBody

_NONE = "no skills are installed here"
_NOTHING: Data = {"upgraded": 0, "results": []}


@click.command()
@click.argument("skill_id", metavar="[ID]", required=False, shell_complete=complete_installed)
@click.option("--check", is_flag=True, help="Only show what would be updated; exit with 1 if anything would be.")
@click.option("--discard", is_flag=True, help="Throw local changes away. Without it, a changed skill is refused.")
@click.option("--version", help="Accept only this version; needs ID.")
@installing_options
def upgrade(
    skill_id: str | None,
    check: bool,
    discard: bool,
    version: str | None,
    as_json: bool,
    server: str | None,
    **flags: Any,
) -> None:
    """Update one skill or all from where they came from. Without ID, all installed skills are updated.

    A skill whose files were changed here is left as it is: its changes are shown, and the command exits with 1.
    """
    skill_id = installed_skill(skill_id) if skill_id else None
    if skill_id and "@" in skill_id:
        name, _, number = skill_id.partition("@")
        command.stop(
            f"{skill_id}: give the version as an option: upgrade {name} --version {number}", command.WRONG_USAGE
        )
    fields = {"skill_id": skill_id, "check": check, "discard": discard, "version": version}
    body = command.converted(fields, UpgradeBody)
    settings = command.load(dict(flags))
    named = registries_of(settings, None).named

    def run(backend: CommandBackend) -> Data:
        with (
            naming_similar(backend, skill_id or "", installed=True),
            console.progress_bar("Upgrading", hidden=as_json) as progress,
        ):
            answer = backend.upgrade(body, progress)
        for row in answer["results"]:
            if row["outcome"] == "updated":
                skill = backend.skill(row["id"])
                warn_of_risk(skill)
                warn_of_withdrawal(skill)
        return answer

    is_empty = skill_id is None and _is_empty(settings, server)
    work = AgentWork.begin(settings, is_global=flags["is_global"]) if server is None and not check else None
    answer = _NOTHING if is_empty else command.with_backend(flags, server, run, CREATES, named=named)
    if work is not None:
        work.finish(answer["results"])
    console.show(answer, rows_shown if skill_id else _upgrade_tables, as_json=as_json)
    edited = [row for row in answer["results"] if has_local_changes(row)]
    for row in edited:
        console.tell(ways_on(row, settings.skills_dir))
    ask_of_withdrawals(settings, server, named, answer["results"])
    exit_if_failed(answer["results"])
    if edited or any(row["outcome"] == "would_update" for row in answer["results"]):
        sys.exit(command.FAILED)


def _is_empty(settings: Settings, server: str | None) -> bool:
    """Return whether there is neither a catalog nor a skills directory here: nothing is made to say so."""
    return not (server or has_catalog(settings) or settings.skills_dir.exists())


def _upgrade_tables(answer: console.Data) -> Iterator[console.Part]:
    """Yield the rows of skills that have an origin, and the number of the others."""
    rows = [row for row in answer["results"] if row["reason"] != NOT_INSTALLED]
    yield from rows_shown({"results": rows})
    if others := len(answer["results"]) - len(rows):
        yield f"Left alone, because nothing has installed them: {others}"
    if not answer["results"]:
        yield f"{_NONE.capitalize()}."


@click.command()
@installing_options
def outdated(as_json: bool, server: str | None, **flags: Any) -> None:
    """List the installed skills that have a newer version. None is changed: 'upgrade' installs it."""
    settings = command.load(dict(flags))
    named = registries_of(settings, None).named

    def run(backend: CommandBackend) -> Data:
        with console.progress_bar("Looking", hidden=as_json) as progress:
            answer = backend.upgrade(UpgradeBody(check=True), progress)
        rows = [{**row, "version": backend.skill(row["id"])["version"]} for row in answer["results"]]
        newer = [_newest_of_changed(backend, row) if has_local_changes(row) else row for row in rows]
        return {"outdated": [row for row in newer if row["outcome"] == "would_update"], "results": answer["results"]}

    answer: Data = {**_NOTHING, "outdated": []}
    if not _is_empty(settings, server):
        answer = command.with_backend(flags, server, run, CREATES, named=named)
    console.show({"outdated": answer["outdated"]}, _outdated_table, as_json=as_json)
    if not answer["results"]:
        console.note(_NONE)
    for row in filter(has_local_changes, answer["outdated"]):
        console.note(
            f"{row['id']} has local changes: 'skill-registry upgrade {row['id']}' shows them, and leaves it alone"
        )
    ask_of_withdrawals(settings, server, named, answer["results"])
    exit_if_failed(answer["results"])


def _newest_of_changed(backend: CommandBackend, row: Data) -> Data:
    """Return the row of a skill with local changes as if it had none, if its origin has another version."""
    without = UpgradeBody(skill_id=row["id"], check=True, discard=True)
    for newest in backend.upgrade(without, lambda count, total: None)["results"]:
        if newest["resolved_version"] != row["version"]:
            return {**row, **newest, "local_changes": row["local_changes"]}
    return row


def _outdated_table(answer: console.Data) -> Iterator[console.Part]:
    rows = [(row["id"], row["version"], row["resolved_version"]) for row in answer["outdated"]]
    if rows:
        yield console.table(("Skill", "Installed", "Newest"), rows)
        yield "'skill-registry upgrade' installs them."
