"""What a content rule is."""

import msgspec

from registry.domain.findings import Severity


class Rule(msgspec.Struct, kw_only=True, frozen=True):
    """A pattern that is searched for in the texts of a skill.

    `pattern` is what `registry.findings.pattern` compiles, a regular expression without captures. A match holds one of
    the `hints`, in small ASCII letters, or one of the `words`, between two word boundaries; a rule with neither is for
    invisible characters. A match begins and ends in one line unless it says `across_lines`. Where one of the rules
    `unless` has matched, it does not count. `prose`: only in Markdown and plain text.
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
