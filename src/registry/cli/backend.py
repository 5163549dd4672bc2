"""The interface of commands to a catalog, whether it is on a server or in a data directory."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from registry.domain.agents import RuleFileKind
from registry.errors import RegistryError

if TYPE_CHECKING:  # the schemas cost start time that `publish` and `login` do not need
    from registry.domain.source_entry import NewSource
    from registry.install.schemas import SkillRequest, UpgradeBody
    from registry.services.schemas import ListSort, SearchBody, SearchFilters

Progress = Callable[[int, int], None]
"""Called with the number of finished items and the total."""

Data = dict[str, Any]


MOST_VERSIONS = 10_000
"""How many versions of a skill a command reads."""


class Needs(NamedTuple):
    """What a command needs of a data directory that it opens.

    Args:
        indexes: The search indexes are current.
        creates: The catalog is created if there is none, and the skills directory is read first.
        watches: A local profile keeps the catalog current, as a server does.
    """

    indexes: bool = True
    creates: bool = False
    watches: bool = False


CREATES = Needs(indexes=False, creates=True)
"""What commands need that add skills or sources, maybe the first ones."""


class Wanted(NamedTuple):
    """Which skills a list has, of all that a search can find, and in which order."""

    filters: "SearchFilters"
    sort: "ListSort | None"


class CommandFailed(Exception):
    """A command failed; the message is one line that says what to do.

    `code` is the error code of the API, if any. If the API names them, `location` and `etag` are those of what exists
    already, and `retry_after` the seconds after which the request may succeed.
    """

    def __init__(self, message: str, code: str | None = None, location: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.location = location
        self.etag: str | None = None
        self.retry_after: float | None = None


def failed(error: RegistryError) -> CommandFailed:
    """Return an error of the API as that of a command."""
    return CommandFailed(error.line, error.code, error.headers.get("Location"))


class CommandBackend(Protocol):
    """A catalog as commands see it. Results have the shape of `data` in the HTTP API; methods raise CommandFailed."""

    @property
    def server(self) -> str | None:
        """The URL of the server; None for a data directory."""
        ...

    def search(self, body: "SearchBody") -> Data:
        """Search for skills."""
        ...

    def ids_for(self, body: "SearchBody") -> list[str]:
        """Return the ids of the hits of a search for a hint. It is not remembered: the user has not made it."""
        ...

    def list_skills(self, limit: int | None, wanted: "Wanted | None" = None) -> tuple[list[Data], int]:
        """Return the cards of the catalog's own or the wanted skills, at most `limit`, and the number of all."""
        ...

    def skill(self, skill_id: str) -> Data:
        """Return a skill in full."""
        ...

    def content(self, skill_id: str, version: str | None = None) -> str:
        """Return the SKILL.md of a skill: of its current version, or of the one that is named."""
        ...

    def versions(self, skill_id: str) -> list[Data]:
        """Return the versions of a skill that are listed, the newest first."""
        ...

    def version(self, skill_id: str, version: str) -> Data:
        """Return one version of a skill."""
        ...

    def reindex(self, skill_id: str | None, *, force: bool, progress: Progress) -> Data:
        """Update the search indexes for one skill or all."""
        ...

    def status(self) -> Data:
        """Return the state of the service."""
        ...

    def sources(self) -> list[Data]:
        """Return the sources."""
        ...

    def add_source(self, source: "NewSource") -> Data:
        """Add a source and return it."""
        ...

    def remove_source(self, name: str) -> Data:
        """Remove a source."""
        ...

    def refresh_sources(self, names: Sequence[str] = ()) -> list[Data]:
        """Fetch the sources with these names again, without names every source, and return all sources."""
        ...

    def install(self, body: "SkillRequest") -> Data:
        """Install a skill and return it."""
        ...

    def create_skills(self, lines: Sequence[bytes]) -> list[CommandFailed | None]:
        """Create a skill from each line of JSON, at most 1,000, and return why not, or None, for each of them."""
        ...

    def uninstall(self, skill_id: str, *, cascade: bool) -> Data:
        """Remove a skill, with `cascade` also those that need it; `removed` has the ids, its own last."""
        ...

    def restore(self, skill_id: str) -> Data:
        """Undo the removal of a skill, and return the skill."""
        ...

    def bin(self) -> list[Data]:
        """Return the removed skills that can be restored, what was removed last first."""
        ...

    def upgrade(self, body: "UpgradeBody", progress: Progress) -> Data:
        """Upgrade one skill or all. The backend reports progress if it can."""
        ...

    def mcp(self, message: bytes) -> bytes | None:
        """Return the response to a message of the Model Context Protocol, None for a notification."""
        ...

    def may_close(self) -> bool:
        """Return whether to close the catalog while there is nothing to do, and to open it again for the next call."""
        ...

    def generate(self, file: RuleFileKind) -> Data:
        """Write a rule file of the project: `mdc`, `agents` or `claude`."""
        ...
