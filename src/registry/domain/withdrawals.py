"""Withdrawals: a version is yanked or revoked, or a whole skill is deprecated, with a reason and a replacement.

A reason comes from another registry too, so it is untrusted text of one line.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, UnsetType

from registry.domain.version_text import REPLACEMENT_PATTERN

WithdrawalState = Literal["deprecated", "yanked", "revoked"]

_REASON_CHARACTERS = 500

Reason = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=_REASON_CHARACTERS,
        pattern=r"^[^\x00-\x1f\x7f]*$(?!\n)",
        extra={"rule": "must be one line of 1 to 500 characters"},
    ),
]
Replacement = Annotated[
    str,
    Meta(
        max_length=250,
        pattern=REPLACEMENT_PATTERN,
        extra={"rule": "must be a skill, scope/name, perhaps with a version or range: scope/name@^1.2"},
    ),
]


class WithdrawalNote(msgspec.Struct, kw_only=True, frozen=True):
    """Why something is withdrawn, and which skill to use in its place."""

    reason: Reason | None = None
    replacement: Replacement | None = None

    @staticmethod
    def prepared(value: Any) -> Any:
        """Return decoded JSON with its texts trimmed, before the rules are applied."""
        if not isinstance(value, dict):
            return value
        return value | {
            name: value[name].strip() for name in ("reason", "replacement") if isinstance(value.get(name), str)
        }


NO_NOTE = WithdrawalNote()


class Withdrawn(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """How a version, or the whole skill, is withdrawn.

    Args:
        state: `yanked` and `revoked` are of one version, `deprecated` is of all.
        at: When that was recorded, `YYYY-MM-DDTHH:MM:SS.sssZ`.
        reason: One line of the user who withdrew it.
        replacement: What to use instead, `scope/name` or `scope/name@range`.
    """

    state: WithdrawalState
    at: str
    reason: str | None = None
    replacement: str | None = None

    @property
    def words(self) -> str:
        """The withdrawal as a part of a sentence: `revoked on 2026-11-25: it leaks keys; use acme/tea@^2 instead`."""
        reason = f": {printable_reason(self.reason)}" if self.reason else ""
        instead = f"; use {printable_reason(self.replacement)} instead" if self.replacement else ""
        return f"{self.state} on {printable_reason(self.at[:10])}{reason}{instead}"


def is_revoked(withdrawn: Withdrawn | UnsetType | None) -> bool:
    """Return whether what is known of a version's withdrawal says that it is revoked."""
    return isinstance(withdrawn, Withdrawn) and withdrawn.state == "revoked"


def says_more(note: WithdrawalNote, former: Withdrawn | None) -> bool:
    """Return whether a note says anything that is not known of a withdrawal. A note without a text says nothing."""
    said = (note.reason, note.replacement)
    return any(said) and (former is None or said != (former.reason, former.replacement))


def printable_reason(text: str) -> str:
    """Return a text of another user as one line of at most 500 characters that can be seen."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line[:_REASON_CHARACTERS]


def described(version: str, withdrawn: Withdrawn) -> str:
    """Return what is withdrawn in words: the version, or the skill if all of it is deprecated."""
    subject = "the skill" if withdrawn.state == "deprecated" else f"version {version}"
    return f"{subject} was {withdrawn.words}"
