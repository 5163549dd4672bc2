"""Who reads the answers of the tools."""

from typing import NamedTuple


class Caller(NamedTuple):
    """The reader of an answer.

    Args:
        is_here: Whether it is a program of the user on this machine, which can use paths of this machine.
        address: The URL at which it reaches the service, without a slash at its end; None over standard input.
    """

    is_here: bool
    address: str | None = None


OVER_STANDARD_INPUT = Caller(is_here=True)
"""The agent that has started the command `mcp`."""
