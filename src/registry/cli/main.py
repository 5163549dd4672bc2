"""The entry point of `skill-registry`. Exit codes: 0 success, 1 failure, 2 wrong usage or configuration, 3 no results.

The modules of the commands are imported on use: the search engine and the web framework take most of the start time,
and the commands that talk to a server need neither.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from registry import __version__
from registry.cli.admin.group import ADMIN_COMMANDS
from registry.cli.dev.group import DEV_COMMANDS
from registry.cli.help.lazy_group import LazyGroup, lazy_commands
from registry.cli.help.output_encoding import make_streams_readable
from registry.domain.file_names import is_text, printable_name

FIND, INSTALL, PUBLISH, SERVE, OPERATE = "Find skills", "Install skills", "Publish skills", "Serve", "Operate"

_VISIBLE = lazy_commands(
    "registry.cli",
    {
        FIND: (
            ("catalog", "search", "List the skills that match QUERY, best first."),
            ("skills", "list", "List the installed skills."),
            ("skills", "show", "Show a skill in full, with what was found in it."),
            ("skills", "versions", "List the versions of a skill, the newest first."),
            ("skills", "open", "Open the page of a skill in the browser, or that of the service."),
            ("sources", "sources", "List, add, remove and refresh the sources of skills."),
        ),
        INSTALL: (
            ("install", "install", "Install skills."),
            ("installing.upgrade", "outdated", "List the installed skills that have a newer version."),
            ("installing.upgrade", "upgrade", "Update one skill or all from where they came from."),
            ("install", "uninstall", "Remove skills, or bring them back."),
            ("project", "lock", "Write skills.lock, which names the installed skills."),
            ("project", "verify", "Check the installed skills against skills.lock, offline."),
            ("checking.audit", "audit", "Ask registries what of skills.lock they have withdrawn."),
            ("installing.agents", "agents", "Show which agents are used here, and their folders."),
            ("project", "cache", "Show the cache of packages, or empty it."),
            ("catalog", "generate", "Write a file for agents that lists the skills."),
        ),
        PUBLISH: (
            ("new_skill", "init", "Make a new skill to begin with, or a project."),
            ("new_skill", "pack", "Make a pack: a skill that needs all skills of the project."),
            ("access.login", "login", "Get a token from a registry and store it."),
            ("access.login", "logout", "Revoke the stored token of a registry and delete it."),
            ("access.own_tokens", "tokens", "Make, list and revoke your tokens for programs."),
            ("access.own_tokens", "password", "Change your password at a registry."),
            ("checking.check", "check", "Check the skills at PATH, offline."),
            ("publishing.publish", "publish", "Publish PATH, a skill folder or a zip of it."),
            ("withdraw", "deprecate", "Mark a published skill as deprecated, or undo that."),
            ("reviews", "reviews", "List, read and decide on packages that wait for a review."),
            ("withdraw", "yank", "Hide a published version from lists and search, or undo that."),
            ("withdraw", "revoke", "Refuse the package of a published version for ever."),
        ),
        SERVE: (
            ("serve", "serve", "Serve the catalog over HTTP."),
            ("mcp", "mcp", "Speak the Model Context Protocol on standard input."),
            ("import_skills", "import", "Create many skills, from a folder or from lines of JSON."),
            ("mirror", "mirror", "Fetch the packages of the registry that SOURCE mirrors."),
            ("catalog", "scan", "Read the skills directory once."),
            ("catalog", "status", "Show the state of the catalog and its indexes."),
            ("catalog", "reindex", "Update the search indexes for one skill or all."),
        ),
        OPERATE: (
            ("doctor", "doctor", "Show what is configured and missing, and how to fix it."),
            ("help.completion", "completion", "Print a script that completes commands in a shell."),
            ("admin.group", "admin", "Administer accounts, stores and the log of a registry."),
            ("dev.group", "dev", "Measure a search, and check a service."),
        ),
    },
)

GROUPS = {"admin": ADMIN_COMMANDS, "dev": DEV_COMMANDS}
"""The commands that have commands of their own, and are loaded on use."""

COMMANDS = {name: entry for name, entry in _VISIBLE.items() if name not in GROUPS} | {
    f"{group} {name}": entry for group, entries in GROUPS.items() for name, entry in entries.items()
}
"""Every command by its full name. The summary is the first sentence of the command's own help, and fits on one line."""

FORMER = {name: entry.module for entries in GROUPS.values() for name, entry in entries.items()} | {
    "unyank": "registry.cli.withdraw",
    "undeprecate": "registry.cli.withdraw",
    "generate-mdc": "registry.cli.catalog",
}
"""The names that commands had before 0.1.0, with their modules. They work, and no help lists them."""


_MEANT = {
    **dict.fromkeys(("add", "i", "get", "sync"), "install"),
    **dict.fromkeys(("remove", "rm", "delete"), "uninstall"),
    **dict.fromkeys(("find", "query"), "search"),
    **dict.fromkeys(("info", "view", "read"), "show"),
    "update": "upgrade",
    "ls": "list",
    "validate": "check",
    "create": "init",
    "new": "init",
    "unpublish": "yank",
}
"""What `npx skills` and package managers call the commands."""


_MEANT_OPTIONS = {
    **dict.fromkeys(("--force", "-f", "--overwrite"), "--discard"),
    **dict.fromkeys(("--yes", "-y"), ""),
    **dict.fromkeys(("--registry", "--source"), "--from"),
    **dict.fromkeys(("--frozen", "--frozen-lockfile"), "--locked"),
    **dict.fromkeys(("--symlink", "--symlinks"), "--link"),
    **dict.fromkeys(("--agents", "-a"), "--agent"),
    "--dry-run": "--check",
    "-g": "--global",
}
"""What they call the options. A command that has none of this meaning suggests none."""


class _MainGroup(LazyGroup):
    """Refuses arguments that are not UTF-8: no catalog, server or address accepts them.

    `help COMMAND` is `COMMAND --help`.
    """

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run the command line as click does, also without standard streams."""
        _open_standard_streams()
        make_streams_readable()
        return super().main(*args, **extra)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does. Exits with the code for wrong usage."""
        if args[:1] == ["help"]:
            args = [*args[1:], "--help"]
        for argument in args:
            if not is_text(argument):
                from registry.cli.command import WRONG_USAGE, stop  # noqa: PLC0415 - loads the settings

                stop(f"the argument {printable_name(argument)} is not UTF-8 text", WRONG_USAGE)
        with _without_passwords():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _without_passwords():
            try:
                return super().invoke(ctx)
            except BrokenPipeError:
                raise
            except OSError as error:  # commands report those they expect; a full disk meets any of them
                from registry.cli.command import stop  # noqa: PLC0415 - loads the settings

                stop(error if error.filename else f"the output cannot be written: {error.strerror}")
            except Exception as error:  # the same of the database
                from registry.cli.command import stop  # noqa: PLC0415 - loads the settings
                from registry.db import DatabaseError  # noqa: PLC0415 - only a failure needs it

                if not isinstance(error, DatabaseError):
                    raise
                stop(f"the catalog cannot be read or written: {error}")


def _open_standard_streams() -> None:
    """Open closed standard streams on the null device.

    Python has None for them, which code does not expect. The first files to be opened, such as the database, would get
    their numbers, to which `mcp` writes.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - until the process ends


@contextmanager
def _without_passwords() -> Iterator[None]:
    """Redact the errors of click, which quote arguments: those may be URLs with passwords."""
    try:
        yield
    except click.UsageError as error:
        from registry.domain.addresses import redact_text  # noqa: PLC0415 - loads the HTTP library

        text = error.format_message()
        if (redacted := redact_text(text)) == text:
            raise
        raise click.UsageError(redacted, error.ctx) from None


@click.group(
    cls=_MainGroup,
    lazy_commands=_VISIBLE,
    former=FORMER,
    meant=_MEANT,
    meant_options=_MEANT_OPTIONS,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "obj": os.environ},
)
@click.version_option(__version__, prog_name="skill-registry")
@click.pass_context
def main(context: click.Context) -> None:
    """Find, trust and install skills for coding agents.

    \b
    skill-registry serve --skills-dir ~/.claude/skills
    skill-registry search "turn a pdf into text"

    'skill-registry COMMAND --help' has the options and examples of a command.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
