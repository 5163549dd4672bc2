"""The protocol of ClawHub, for the commands `clawhub` and `openclaw`."""

from registry.protocols.clawhub.account import ACCOUNT, discover_clawhub
from registry.protocols.clawhub.changes import CHANGES
from registry.protocols.clawhub.finding import FINDING
from registry.protocols.clawhub.publishing import PUBLISHING
from registry.protocols.clawhub.reading import READING
from registry.protocols.clawhub.verdicts import VERDICTS

CLAWHUB = [discover_clawhub, *FINDING, *READING, *VERDICTS, *PUBLISHING, *CHANGES, *ACCOUNT]
"""The routes below `/clawhub`, and the document that says so."""
