"""The formats of reports that checks make."""

import click

from registry.cli.help.settings_options import Command


def format_options(function: Command) -> Command:
    """Add `--format`, passed on as `output`, and `--json`."""
    as_json = click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
    output = click.option(
        "--format",
        "output",
        type=click.Choice(["text", "json", "sarif"]),
        default="text",
        help="Lines for people, JSON, or SARIF 2.1.0 for code scanning.",
    )
    return output(as_json(function))
