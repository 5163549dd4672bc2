"""The formats of reports that checks make."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., Any])


def format_options(function: _Command) -> _Command:
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
