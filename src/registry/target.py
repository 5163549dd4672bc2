"""What commands work on, whether a server has it or a data directory."""

from collections.abc import Callable
from typing import Any, Protocol

from registry.answers import SearchBody
from registry.install_request import SkillRequest
from registry.sources.entry import SourceEntry
from registry.upgrading import UpgradeBody

Progress = Callable[[int, int], None]
Answer = dict[str, Any]


class CommandFailed(Exception):
    """A command could not do what it was asked; the message is one line that says what to do."""


class Target(Protocol):
    """What commands work on. Answers are those of the HTTP API's `data`; methods raise CommandFailed."""

    def search(self, body: SearchBody) -> Answer:
        """Search."""
        ...

    def reindex(self, skill_id: str | None, *, force: bool, progress: Progress) -> Answer:
        """Reindex one skill or all, saying how far it is."""
        ...

    def status(self) -> Answer:
        """Return how the service is."""
        ...

    def sources(self) -> list[Answer]:
        """Return the sources."""
        ...

    def add_source(self, source: SourceEntry) -> Answer:
        """Add a source and return it."""
        ...

    def remove_source(self, name: str) -> Answer:
        """Remove a source."""
        ...

    def refresh_sources(self) -> list[Answer]:
        """Read every source anew and return the sources."""
        ...

    def install(self, body: SkillRequest) -> Answer:
        """Install a skill and return it."""
        ...

    def uninstall(self, skill_id: str) -> Answer:
        """Remove a skill."""
        ...

    def upgrade(self, body: UpgradeBody, progress: Progress) -> Answer:
        """Upgrade one skill or all, saying how far it is where that can be known."""
        ...

    def generate_mdc(self) -> Answer:
        """Write the project's rule file for editors."""
        ...
