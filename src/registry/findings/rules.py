"""Every content rule, in matching order."""

from registry.findings.commands import COMMANDS
from registry.findings.hidden_text import HIDDEN_TEXT
from registry.findings.instructions import INSTRUCTIONS
from registry.findings.rule import Rule
from registry.findings.secrets import SECRETS
from registry.findings.theft import CREDENTIALS, PERSISTENCE

RULES: tuple[Rule, ...] = (*HIDDEN_TEXT, *COMMANDS, *CREDENTIALS, *PERSISTENCE, *SECRETS, *INSTRUCTIONS)

__all__ = ["RULES", "Rule"]
