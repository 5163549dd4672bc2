"""`skill-registry yank`, `revoke` and `deprecate`: withdraw what was published, and say why."""

import re
from typing import Any, cast
from urllib.parse import quote

import click
import msgspec

from registry.cli import command, console
from registry.cli.backend import Data
from registry.cli.help.settings_options import Command, settings_options
from registry.cli.open_issuer import with_publisher
from registry.cli.user_registries import skill_and_server
from registry.domain.api import API
from registry.domain.roles import Role
from registry.domain.withdrawals import WithdrawalNote

_undo_option = click.option("--undo", is_flag=True, help="Undo it: the skill or version is as before.")

_VERSION = re.compile(r"([^/@]+/[^/@]+)@([^/@]+)")
_SKILL = re.compile(r"[^/@]+/[^/@]+")
_OF_SKILLS = frozenset({"deprecate", "undeprecate"})
"""The actions on a skill. The others are on a version."""


def _options(function: Command) -> Command:
    return command.json_option(command.registry_option(settings_options("data_dir")(function)))


def _note_options(function: Command) -> Command:
    reason = click.option("--reason", metavar="TEXT", help="Why, in one line. All who have installed it see it.")
    replacement = click.option(
        "--replacement", metavar="SCOPE/NAME[@RANGE]", help="What to use instead, such as acme/pdf-forms@^2."
    )
    return reason(replacement(_options(function)))


def _change(
    target: str,
    action: str,
    flags: dict[str, Any],
    server: str | None,
    note: WithdrawalNote | None = None,
    role: Role = "manager",
    *,
    as_json: bool,
) -> None:
    target, server = skill_and_server(target, server)
    skill_id, path = _of_skill(target, action) if action in _OF_SKILLS else _of_version(target, action)
    body = None if note is None else {name: value for name, value in msgspec.to_builtins(note).items() if value}
    url = f"{API}/registry/skills/{quote(skill_id)}/{path}"
    answer = with_publisher(
        flags,
        server,
        lambda client: cast(Data, client.call(dict, "POST", url, body)),
        scope=skill_id.partition("/")[0],
        role=role,
    )
    console.show(answer, console.facts_table, as_json=as_json)


def _note(reason: str | None, replacement: str | None) -> WithdrawalNote:
    return command.converted({"reason": reason, "replacement": replacement}, WithdrawalNote)


def _note_or_undo(reason: str | None, replacement: str | None, *, undo: bool) -> WithdrawalNote | None:
    """Return the note of a withdrawal; None for its undoing, which takes none."""
    if undo and (reason or replacement):
        command.stop("--undo takes no --reason and no --replacement", command.WRONG_USAGE)
    return None if undo else _note(reason, replacement)


def _of_version(target: str, action: str) -> tuple[str, str]:
    """Return the id of a skill, and the path of an action on a version of it."""
    match = _VERSION.fullmatch(target)
    if match is None:
        command.stop(f"{target}: name a version as scope/name@1.0.0", command.WRONG_USAGE)
    return match[1], f"{quote(match[2], safe='')}/{action}"


def _of_skill(target: str, action: str) -> tuple[str, str]:
    """Return the id of a skill, and the path of an action on it."""
    if _SKILL.fullmatch(target) is None:
        command.stop(f"{target}: name a skill as scope/name, without a version", command.WRONG_USAGE)
    return target, action


@click.command()
@click.argument("version", metavar="SCOPE/NAME@VERSION")
@_undo_option
@_note_options
def yank(
    version: str,
    reason: str | None,
    replacement: str | None,
    as_json: bool,
    undo: bool,
    server: str | None,
    **flags: Any,
) -> None:
    """Hide a published version from lists and search, or undo that. Clients that name it exactly still get it.

    \b
    skill-registry yank acme/pdf-forms@1.2.0 --reason "fields are lost" --replacement acme/pdf-forms@^1.3
    skill-registry yank acme/pdf-forms@1.2.0 --undo
    """
    note = _note_or_undo(reason, replacement, undo=undo)
    _change(version, "unyank" if undo else "yank", flags, server, note, as_json=as_json)


@click.command(hidden=True)
@click.argument("version", metavar="SCOPE/NAME@VERSION")
@_options
def unyank(version: str, as_json: bool, server: str | None, **flags: Any) -> None:
    """Undo a yank, as `yank --undo` does."""
    _change(version, "unyank", flags, server, as_json=as_json)


@click.command()
@click.argument("version", metavar="SCOPE/NAME@VERSION")
@_note_options
def revoke(
    version: str, reason: str | None, replacement: str | None, as_json: bool, server: str | None, **flags: Any
) -> None:
    """Refuse the package of a published version for ever. Only administrators may, and nothing undoes it.

    \b
    skill-registry revoke acme/pdf-forms@1.2.0 --reason "it sends files to an unknown host"
    """
    _change(version, "revoke", flags, server, _note(reason, replacement), "admin", as_json=as_json)


@click.command()
@click.argument("skill", metavar="SCOPE/NAME")
@_undo_option
@_note_options
def deprecate(
    skill: str, reason: str | None, replacement: str | None, as_json: bool, undo: bool, server: str | None, **flags: Any
) -> None:
    """Mark a published skill as deprecated, or undo that. It stays found, below others, and can be installed.

    \b
    skill-registry deprecate acme/pdf-forms --reason "no longer maintained" --replacement acme/forms
    skill-registry deprecate acme/pdf-forms --undo
    """
    note = _note_or_undo(reason, replacement, undo=undo)
    _change(skill, "undeprecate" if undo else "deprecate", flags, server, note, as_json=as_json)


@click.command(hidden=True)
@click.argument("skill", metavar="SCOPE/NAME")
@_options
def undeprecate(skill: str, as_json: bool, server: str | None, **flags: Any) -> None:
    """Undo a deprecation, as `deprecate --undo` does."""
    _change(skill, "undeprecate", flags, server, as_json=as_json)
