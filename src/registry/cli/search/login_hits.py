"""The hits of the registry of the user's login, beside those of the data directory."""

from registry.cli import console
from registry.cli.backend import CommandFailed, Data
from registry.cli.remote.backend import RemoteBackend
from registry.cli.remote.client import connect
from registry.config.settings import Settings
from registry.services.schemas import SearchBody

SECONDS = 5.0
"""How long a command that has an answer already waits for the registry of the login."""

_ORDER = ("high", "medium", "keyword", "low")


def with_login_hits(settings: Settings, server: str, body: SearchBody, data: Data) -> Data:
    """Return the results of the data directory with those of a registry, whose hits have a `server`.

    The more relevant come first, then those of a higher score. A registry that does not answer is a note.
    """
    try:
        with connect(settings, server, seconds=SECONDS) as client:
            answer = RemoteBackend(client, settings).search(body)
    except CommandFailed as error:
        console.note(f"only {settings.data_dir.name} was searched: {error}")
        return data
    console.note(f"searched {settings.data_dir.name}, and {server} (your login)")
    here = {hit["skill"]["id"]: hit["skill"]["description"] for hit in data["skills"]}
    hits = [{**hit, "server": server} for hit in answer["skills"] if not _is_installed(hit["skill"], here)]
    skills = sorted([*data["skills"], *hits], key=_rank)[: body.limit]
    warnings = list(dict.fromkeys([*data["warnings"], *answer["warnings"]]))
    return {**data, "skills": skills, "count": len(skills), "warnings": warnings}


def _is_installed(card: Data, here: dict[str, str]) -> bool:
    """Return whether a skill of a registry is that of the data directory: it has its name and its description."""
    return bool(here.get(card["id"].rpartition("/")[2]) == card["description"])


def _rank(hit: Data) -> tuple[int, float]:
    relevance = hit["relevance"]
    return _ORDER.index(relevance) if relevance in _ORDER else len(_ORDER), -hit["score"]
