"""Who reads the answers of the tools."""

from typing import NamedTuple


class Caller(NamedTuple):
    """The reader of an answer.

    Args:
        is_here: Whether it is a program of the user on this machine, which can use paths of this machine.
        address: The URL at which it reaches the service, without a slash at its end; None over standard input.
        name: By which its uses of skills are counted once.
    """

    is_here: bool
    address: str | None = None
    name: str = "standard input"


OVER_STANDARD_INPUT = Caller(is_here=True)
"""The agent that has started the command `mcp`."""
