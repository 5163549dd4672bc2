"""A catalog on a server, over HTTP."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec

from registry.cli.backend import CommandFailed, Data, Progress
from registry.cli.client import RegistryClient, failure_of
from registry.cli.search.last_search import remember_search
from registry.config.settings import Settings
from registry.errors import skill_not_found
from registry.protocols.mcp.messages import McpError, failure, http_headers, parse

if TYPE_CHECKING:
    from registry.domain.source_entry import NewSource
    from registry.install.schemas import SkillRequest, UpgradeBody
    from registry.services.schemas import SearchBody

_FETCH_SECONDS = 600.0
"""The time limit for requests in which the server waits for other servers; it has its own limit for each of those."""

_POLL_SECONDS = 0.3


class RemoteBackend:
    """A catalog on a server."""

    def __init__(self, client: RegistryClient, settings: Settings, *, is_of_data_dir: bool = False) -> None:
        self._client = client
        self._is_of_data_dir = is_of_data_dir
        self._settings = settings
        self._call = client.call

    @property
    def server(self) -> str | None:
        """The URL of the server."""
        return self._client.base

    def search(self, body: "SearchBody") -> Data:
        """Search for skills, and remember what was shown, so that the server learns which of it is installed."""
        answer: Data = self._call("POST", "/search", msgspec.to_builtins(body))
        remember_search(self._settings, self._client.base, answer)
        return answer

    def list_skills(self, limit: int, offset: int) -> tuple[list[Data], int]:
        """Return at most `limit` cards of the catalog's own skills behind the first `offset`, and their total."""
        return self._client.page("/skills", limit, offset)

    def skill(self, skill_id: str) -> Data:
        """Return a skill in full."""
        answer = self._call("GET", _path_of(skill_id))
        if not isinstance(answer, dict) or "findings" not in answer:  # another route answered, as that of `ID/files`
            raise _not_found(skill_id)
        return answer

    def content(self, skill_id: str) -> str:
        """Return the SKILL.md of a skill."""
        return str(self._call("GET", f"{_path_of(skill_id)}/content")["content"])

    def reindex(self, skill_id: str | None, *, force: bool, progress: Progress) -> Data:
        """Update the search indexes for one skill or all."""
        path = _path_of(skill_id, below="/reindex") if skill_id else "/reindex"
        job = self._call("POST", f"{path}?async=true", {"force": force})
        while (state := self._call("GET", f"/reindex/{job['job_id']}"))["status"] == "running":
            progress(state["done"], state["total"])
            time.sleep(_POLL_SECONDS)
        if state.get("result") is None:
            raise CommandFailed(f"reindexing failed: {state.get('error')}")
        result: Data = state["result"]
        return result

    def status(self) -> Data:
        """Return the state of the service."""
        answer: Data = self._call("GET", "/status")
        return answer

    def sources(self) -> list[Data]:
        """Return the sources."""
        answer: list[Data] = self._call("GET", "/registry/sources")
        return answer

    def add_source(self, source: "NewSource") -> Data:
        """Add a source and return it."""
        answer: Data = self._call("POST", "/registry/sources", msgspec.to_builtins(source))
        return answer

    def remove_source(self, name: str) -> Data:
        """Remove a source."""
        answer: Data = self._call("DELETE", f"/registry/sources/{quote(name, safe='')}")
        return answer

    def refresh_sources(self) -> list[Data]:
        """Fetch every source again and return the sources."""
        self._call("POST", "/registry/refresh")
        return self.sources()

    def install(self, body: "SkillRequest") -> Data:
        """Install a skill and return it."""
        answer: Data = self._call("POST", "/skills", msgspec.to_builtins(body), _FETCH_SECONDS)
        return answer

    def create_skills(self, lines: Sequence[bytes]) -> list[CommandFailed | None]:
        """Create a skill from each line of JSON, and return why not, or None, for each of them."""
        answer: Data = self._client.send_lines("/skills:batch", lines, _FETCH_SECONDS)
        return [None if one["success"] else failure_of(one["error"]) for one in answer["results"]]

    def uninstall(self, skill_id: str) -> Data:
        """Remove a skill."""
        answer: Data = self._call("DELETE", _path_of(skill_id, safe=""))
        return answer

    def upgrade(self, body: "UpgradeBody", progress: Progress) -> Data:
        """Upgrade one skill or all. A server does not report progress."""
        answer: Data = self._call("POST", "/skills/upgrade", msgspec.to_builtins(body), _FETCH_SECONDS)
        return answer

    def mcp(self, message: bytes) -> bytes | None:
        """Return the server's response to a message of the Model Context Protocol, None for a notification."""
        try:
            parsed = parse(message)
            return self._client.relay("/mcp", message, http_headers(parsed), _FETCH_SECONDS) or None
        except (McpError, CommandFailed) as error:
            return failure(message, error)

    def may_close(self) -> bool:
        """Return whether another process may take the server's place on the data directory."""
        return self._is_of_data_dir

    def generate_mdc(self) -> Data:
        """Write the rule file of the server's project."""
        answer: Data = self._call("POST", "/manifest/generate-mdc", {})
        return answer


def _path_of(skill_id: str, safe: str = "/", below: str = "/skills") -> str:
    """Return the path of a skill. Raises CommandFailed for an id that would lead to other paths."""
    if any(part in ("", ".", "..") for part in skill_id.split("/")):
        raise _not_found(skill_id)
    return f"{below}/{quote(skill_id, safe=safe)}"


def _not_found(skill_id: str) -> CommandFailed:
    return CommandFailed(skill_not_found(skill_id).message, "SKILL_NOT_FOUND")
