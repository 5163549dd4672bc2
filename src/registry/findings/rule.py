"""The definition of a content rule."""

import msgspec

from registry.domain.findings import Severity


class Rule(msgspec.Struct, kw_only=True, frozen=True):
    """A pattern that is matched in the texts of a skill.

    Args:
        pattern: A regular expression without captures, compiled by `registry.findings.pattern`.
        hints: Substrings in lower-case ASCII. A match contains one of the hints or words. A rule with neither matches
            invisible characters.
        words: As `hints`, between word boundaries.
        unless: Ids of rules. A match that overlaps a match of one of them does not count.
        prose: The rule applies only to Markdown and plain text.
        across_lines: A match may extend over several lines.
    """

    id: str
    severity: Severity
    message: str
    pattern: str
    hints: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    prose: bool = False
    across_lines: bool = False
