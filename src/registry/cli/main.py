"""The entry point of `skill-registry`. Exit codes: 0 success, 1 failure, 2 wrong usage or configuration, 3 no results.

The modules of the commands are imported on use: the search engine and the web framework take most of the start time,
and the commands that talk to a server need neither.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from registry import __version__
from registry.cli.lazy_group import LazyCommand, LazyGroup
from registry.domain.file_names import is_text, printable_name

COMMANDS = {
    name: LazyCommand(f"registry.cli.{module}", summary)
    for module, name, summary in (
        ("serve", "serve", "Serve the catalog over HTTP."),
        ("catalog", "search", "List the skills that match QUERY, best first."),
        ("catalog", "reindex", "Update the search indexes for SKILL_ID, or for all skills."),
        ("catalog", "scan", "Read the skills directory once."),
        ("catalog", "status", "Show the state of the catalog and its indexes."),
        ("embed", "embed", "Embed all skills with the configured model, then exit."),
        ("evaluation", "eval", "Measure search quality on labelled queries, with the configured model."),
        ("login", "login", "Get a token from a registry and store it."),
        ("login", "logout", "Revoke the stored token of a registry and delete it."),
        ("publish", "publish", "Publish PATH, a skill folder or a zip of it, and wait for the result."),
        ("publish", "yank", "Hide a published version from lists and search."),
        ("publish", "unyank", "Undo a yank."),
        ("jobs", "jobs", "List and retry publish jobs that are set aside."),
        ("log", "log", "Administer the transparency log."),
        ("accounts", "keys", "Create, list and revoke API keys."),
        ("accounts", "users", "Add, list, change and remove users."),
        ("accounts", "token", "Sign a token with the secret of this registry."),
        ("sources", "sources", "List, add, remove and refresh the sources of skills."),
        ("install", "install", "Install skills."),
        ("import_skills", "import", "Create skills from PATH, a folder of skills or a file with a JSON object a line."),
        ("install", "uninstall", "Remove skills."),
        ("install", "upgrade", "Update the skill ID, or all installed skills, from their origin."),
        ("conformance", "conformance", "Check whether the service at URL keeps the HTTP specification."),
        ("mcp", "mcp", "Speak the Model Context Protocol over standard input and output."),
        ("project", "lock", "Write skills.lock: the installed skills, with a digest of each skill's files."),
        ("project", "verify", "Check the installed skills against skills.lock, offline."),
        ("catalog", "generate-mdc", "Write a rule file for editors that lists the installed skills."),
        ("fsck", "fsck", "Compare the stores of a catalog and report differences."),
        ("database", "migrate", "Copy a catalog from SQLite into PostgreSQL and compare every table."),
        ("database", "forget-secrets", "Delete the secrets that replicas share in PostgreSQL, after one is lost."),
        ("operations", "backup", "Write a backup into the new folder DIR while the service runs."),
        (
            "operations",
            "verify-backup",
            "Compare the files and the database in the backup DIR with its checksums and digests.",
        ),
        ("operations", "clone-index", "Clone the registry index into its folder if the folder is empty."),
    )
}
"""Every command. The summary is the first sentence of the command's own help."""


class _MainGroup(LazyGroup):
    """Refuses arguments that are not UTF-8: no catalog, server or address accepts them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does. Exits with the code for wrong usage."""
        for argument in args:
            if not is_text(argument):
                from registry.cli.command import WRONG_USAGE, stop  # noqa: PLC0415 - loads the settings

                stop(f"the argument {printable_name(argument)} is not UTF-8 text", WRONG_USAGE)
        with _without_passwords():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _without_passwords():
            return super().invoke(ctx)


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
    lazy_commands=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="skill-registry")
@click.pass_context
def main(context: click.Context) -> None:
    """Find, trust and install skills for coding agents.

    \b
    skill-registry serve --skills-dir ~/.claude/skills
    skill-registry search "turn a pdf into text"
    """
    context.obj = os.environ
