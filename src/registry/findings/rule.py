"""The definition of a content rule."""

import re
from functools import cached_property

import msgspec
import re2

from registry.domain.findings import Severity

_MEMORY = 4 * 1024 * 1024
"""The bytes that RE2 may use for the automaton of one pattern. The others are matched without one, slower."""


class Rule(msgspec.Struct, kw_only=True, frozen=True, dict=True):
    r"""A pattern that is matched in the texts of a skill.

    Args:
        pattern: A regular expression in the syntax of RE2, without captures. Runs of blanks in a text are one blank.
            A gap within a line is `[^\n]*?`, without a bound: RE2 is slow with counted gaps, and `within` bounds them.
        within: The most bytes of a match, with runs of blanks as one.
        but_not: A match does not count if this pattern, too, matches where it begins.
        unless: Ids of earlier rules. A match that overlaps a match of one of them does not count.
        prose: The rule applies only to Markdown and plain text.
    """

    id: str
    severity: Severity
    message: str
    pattern: str
    within: int = 400
    but_not: str | None = None
    unless: tuple[str, ...] = ()
    prose: bool = False

    @cached_property
    def compiled(self) -> re2._Regexp:
        """The compiled pattern. It matches bytes."""
        return re2.compile(self.pattern, options())

    @cached_property
    def exception(self) -> re2._Regexp | None:
        """The compiled `but_not`."""
        return None if self.but_not is None else re2.compile(self.but_not, options())


def options() -> re2.Options:
    """Return how patterns are compiled."""
    result = re2.Options()
    result.max_mem = _MEMORY
    result.log_errors = False  # to stderr; a pattern that does not compile raises
    return result


def other_than(*words: str) -> str:
    """Return a pattern for the rest of a line that begins with none of the words, up to the first other character.

    It is what `(?!word|word)` is in a backtracking engine, but it consumes characters.
    """
    following: dict[str, list[str]] = {}
    for word in words:
        following.setdefault(word[0], []).append(word[1:])
    firsts = "".join(re.escape(character) for character in following)
    # Nothing may follow a word that is complete.
    longer = (re.escape(first) + other_than(*rests) for first, rests in following.items() if all(rests))
    return "(?:" + "|".join(("$", rf"[^{firsts}\n]", *longer)) + ")"
