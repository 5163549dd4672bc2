"""What commands work on, whether a server has it or a data directory."""

from collections.abc import Callable
from typing import Any, Protocol

from registry.domain.source_entry import SourceEntry
from registry.install.schemas import SkillRequest, UpgradeBody
from registry.services.schemas import SearchBody

Progress = Callable[[int, int], None]
Data = dict[str, Any]


class CommandFailed(Exception):
    """A command could not do what it was asked; the message is one line that says what to do."""


class CommandBackend(Protocol):
    """What commands work on. Answers are those of the HTTP API's `data`; methods raise CommandFailed."""

    def search(self, body: SearchBody) -> Data:
        """Search."""
        ...

    def reindex(self, skill_id: str | None, *, force: bool, progress: Progress) -> Data:
        """Reindex one skill or all, saying how far it is."""
        ...

    def status(self) -> Data:
        """Return how the service is."""
        ...

    def sources(self) -> list[Data]:
        """Return the sources."""
        ...

    def add_source(self, source: SourceEntry) -> Data:
        """Add a source and return it."""
        ...

    def remove_source(self, name: str) -> Data:
        """Remove a source."""
        ...

    def refresh_sources(self) -> list[Data]:
        """Read every source anew and return the sources."""
        ...

    def install(self, body: SkillRequest) -> Data:
        """Install a skill and return it."""
        ...

    def uninstall(self, skill_id: str) -> Data:
        """Remove a skill."""
        ...

    def upgrade(self, body: UpgradeBody, progress: Progress) -> Data:
        """Upgrade one skill or all, saying how far it is where that can be known."""
        ...

    def generate_mdc(self) -> Data:
        """Write the project's rule file for editors."""
        ...
