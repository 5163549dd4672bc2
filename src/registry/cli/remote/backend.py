"""A catalog on a server, over HTTP."""

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import msgspec

from registry.cli.backend import MOST_VERSIONS, CommandFailed, Data, Progress, Wanted
from registry.cli.remote import answers
from registry.cli.remote.client import RegistryClient, failure_of
from registry.cli.remote.relay import relayed
from registry.cli.search.last_search import remember_search
from registry.config.settings import Settings
from registry.domain.agents import RuleFileKind
from registry.domain.api import API
from registry.domain.models import RESERVED_IDS
from registry.domain.skill_file import SKILL_FILE
from registry.errors import skill_not_found

if TYPE_CHECKING:
    from registry.domain.source_entry import NewSource
    from registry.install.schemas import SkillRequest, UpgradeBody
    from registry.services.schemas import SearchBody, SearchFilters

_POLL_SECONDS = 0.3
_STALLED_SECONDS = 600.0
"""How long a job of the server may stay where it is."""

_PAGE = 100


class RemoteBackend:
    """A catalog on a server."""

    def __init__(self, client: RegistryClient, settings: Settings, *, is_of_data_dir: bool = False) -> None:
        self._client = client
        self._is_of_data_dir = is_of_data_dir
        self._settings = settings

    @property
    def server(self) -> str | None:
        """The URL of the server."""
        return self._client.base

    def search(self, body: "SearchBody") -> Data:
        """Search for skills, and remember what was shown, so that the server learns which of it is installed."""
        kind = answers.Explained if body.explain else answers.Found
        answer: Data = self._call(kind, "POST", "/search", msgspec.to_builtins(body))
        remember_search(self._settings, self._client.base, answer)
        return answer

    def ids_for(self, body: "SearchBody") -> list[str]:
        """Return the ids of the hits of a search for a hint. It is not remembered: the user has not made it."""
        answer: Data = self._call(answers.Found, "POST", "/search", msgspec.to_builtins(body))
        return [hit["skill"]["id"] for hit in answer["skills"]]

    def list_skills(self, limit: int | None, wanted: Wanted | None = None) -> tuple[list[Data], int]:
        """Return the cards of the catalog's own or the wanted skills, at most `limit`, and the number of all."""
        chosen = [] if wanted is None else [*_parameters(wanted.filters)]
        if wanted is not None and wanted.sort is not None:
            chosen.append(("sort", wanted.sort))
        return self._client.pages(answers.Card, f"{API}/skills", limit, _PAGE, urlencode(chosen))

    def skill(self, skill_id: str) -> Data:
        """Return a skill in full."""
        if skill_id.rpartition("/")[2] in RESERVED_IDS:  # another route would answer, as that of `ID/files`
            raise _not_found(skill_id)
        skill: Data = self._call(answers.Skill, "GET", _path_of(skill_id))
        return skill

    def content(self, skill_id: str, version: str | None = None) -> str:
        """Return the SKILL.md of a skill: of its current version, or of the one that is named."""
        if version is None:
            return str(self._call(answers.Content, "GET", f"{_path_of(skill_id)}/content")["content"])
        path = f"{API}{_path_of(skill_id)}/versions/{_quoted(version)}/files/{SKILL_FILE}"
        text = self._client.text(path, self._settings.client.answer_bytes)
        if text is None:
            raise CommandFailed(f"{SKILL_FILE} of {skill_id} {version} is no text")
        return text

    def versions(self, skill_id: str) -> list[Data]:
        """Return the versions of a skill that are listed, the newest first."""
        return self._client.pages(answers.Version, f"{API}{_path_of(skill_id)}/versions", MOST_VERSIONS, _PAGE)[0]

    def version(self, skill_id: str, version: str) -> Data:
        """Return one version of a skill."""
        answer: Data = self._call(answers.Version, "GET", f"{_path_of(skill_id)}/versions/{_quoted(version)}")
        return answer

    def reindex(self, skill_id: str | None, *, force: bool, progress: Progress) -> Data:
        """Update the search indexes for one skill or all."""
        path = _path_of(skill_id, below="/reindex") if skill_id else "/reindex"
        job = self._call(answers.Job, "POST", f"{path}?async=true", {"force": force})
        state = self._ended(job["job_id"], progress)
        if state.get("result") is None:
            raise CommandFailed(f"reindexing failed: {state.get('error')}")
        result: Data = state["result"]
        return result

    def _ended(self, job_id: str, progress: Progress) -> Data:
        """Return the state of a reindexing that has ended. One that stays where it is for long is given up."""
        most, given_up_at = -1, 0.0
        while True:
            state: Data = self._call(answers.Reindexing, "GET", f"/reindex/{_quoted(job_id)}")
            if state["status"] != "running":
                return state
            progress(state["done"], state["total"])
            if state["done"] > most:
                most, given_up_at = state["done"], time.monotonic() + _STALLED_SECONDS
            if time.monotonic() > given_up_at:
                raise CommandFailed("reindexing does not proceed: the log of the server may say why")
            time.sleep(_POLL_SECONDS)

    def status(self) -> Data:
        """Return the state of the service."""
        answer: Data = self._call(answers.Status, "GET", "/status")
        return answer

    def sources(self) -> list[Data]:
        """Return the sources."""
        answer: list[Data] = self._call(list[answers.Source], "GET", "/registry/sources")
        return answer

    def add_source(self, source: "NewSource") -> Data:
        """Add a source and return it."""
        answer: Data = self._call(answers.Source, "POST", "/registry/sources", msgspec.to_builtins(source))
        return answer

    def remove_source(self, name: str) -> Data:
        """Remove a source."""
        answer: Data = self._call(dict, "DELETE", f"/registry/sources/{_quoted(name)}")
        return answer

    def refresh_sources(self, names: Sequence[str] = ()) -> list[Data]:
        """Fetch every source again, which is all that a server does, and return the sources."""
        self._call(Any, "POST", "/registry/refresh", long=True)
        return self.sources()

    def install(self, body: "SkillRequest") -> Data:
        """Install a skill and return it."""
        answer: Data = self._call(answers.Skill, "POST", "/skills", msgspec.to_builtins(body), long=True)
        return answer

    def create_skills(self, lines: Sequence[bytes]) -> list[CommandFailed | None]:
        """Create a skill from each line of JSON, and return why not, or None, for each of them."""
        answer: Data = self._client.send_lines(answers.Batch, f"{API}/skills:batch", lines)
        results = answer["results"]
        if len(results) != len(lines):
            raise CommandFailed(f"{self._client.base} answers for {len(results)} of {len(lines)} lines of an import")
        return [None if result["success"] else _failure(result.get("error")) for result in results]

    def uninstall(self, skill_id: str, *, cascade: bool) -> Data:
        """Remove a skill, with `cascade` also those that need it."""
        path = _path_of(skill_id, safe="") + ("?cascade=true" if cascade else "")
        answer: Data = {"removed": [skill_id], **self._call(dict, "DELETE", path)}
        return answer

    def restore(self, skill_id: str) -> Data:
        """Undo the removal of a skill, and return the skill."""
        skill: Data = self._call(answers.Skill, "POST", f"{_path_of(skill_id)}/restore")
        return skill

    def bin(self) -> list[Data]:
        """Return the removed skills that can be restored, what was removed last first."""
        entries: list[Data] = self._call(list[answers.BinnedSkill], "GET", "/bin")
        return entries

    def upgrade(self, body: "UpgradeBody", progress: Progress) -> Data:
        """Upgrade one skill or all. A server does not report progress."""
        answer: Data = self._call(answers.Upgrades, "POST", "/skills/upgrade", msgspec.to_builtins(body), long=True)
        return answer

    def mcp(self, message: bytes) -> bytes | None:
        """Return the server's response to a message of the Model Context Protocol, None for a notification."""
        return relayed(self._client, message)

    def may_close(self) -> bool:
        """Return whether another process may take the server's place on the data directory."""
        return self._is_of_data_dir

    def generate(self, file: RuleFileKind) -> Data:
        """Write a rule file of the server's project."""
        answer: Data = self._call(answers.RuleFile, "POST", "/manifest/generate-mdc", {"file": file})
        return answer

    def _call(self, kind: Any, method: str, path: str, body: object = None, *, long: bool = False) -> Any:
        return self._client.call(kind, method, f"{API}{path}", body, long=long)


def _quoted(part: str) -> str:
    return quote(part, safe="")


def _failure(error: Data | None) -> CommandFailed:
    return failure_of(error) if error else CommandFailed("the server does not say why")


def _path_of(skill_id: str, safe: str = "/", below: str = "/skills") -> str:
    """Return the path of a skill. Raises CommandFailed for an id that would lead to other paths."""
    if any(part in ("", ".", "..") for part in skill_id.split("/")):
        raise _not_found(skill_id)
    return f"{below}/{quote(skill_id, safe=safe)}"


def _not_found(skill_id: str) -> CommandFailed:
    return CommandFailed(skill_not_found(skill_id).message, "SKILL_NOT_FOUND")


def _parameters(filters: "SearchFilters") -> Iterator[tuple[str, str]]:
    """Yield filters as the parameters of a query string."""
    values = msgspec.to_builtins(filters)
    for prefix, fields in (("", values), ("not.", values.pop("not") or {})):
        for name, value in fields.items():
            for item in value if isinstance(value, list) else [] if value is None else [value]:
                yield f"{prefix}{name}", str(item).lower() if isinstance(item, bool) else str(item)
