"""What a content rule is."""

import msgspec

from registry.findings.finding import Severity


class Rule(msgspec.Struct, kw_only=True, frozen=True):
    """A pattern that is searched for in the texts of a skill.

    Every pattern takes time linear in the text: repetitions are bounded or cannot overlap. `hints` are lower-case
    words of which a matching text holds at least one; a rule without any is for invisible characters. A match where
    one of the rules `unless` has matched does not count. `prose`: only in Markdown and plain text.
    """

    id: str
    severity: Severity
    message: str
    pattern: str
    hints: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    prose: bool = False
