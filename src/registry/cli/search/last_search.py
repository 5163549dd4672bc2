"""The last search on each server, so that the server learns which of its results the user installed."""

import contextlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from registry.cli.backend import CommandFailed, Data
from registry.cli.credentials import server_name
from registry.cli.remote.client import connect
from registry.config.settings import Settings
from registry.domain.api import API
from registry.parsing.json_document import JsonUnreadable, read_json
from registry.runtime.atomic_files import only_writer, replace_file

_REMEMBERED_SECONDS = 3600.0
"""Who installs a skill later than this has probably found it elsewhere."""

_REMEMBERED_RESULTS = 100
"""The results of one search at most, as the command asks for them."""

_PATIENCE_SECONDS = 2.0


class _Search(msgspec.Struct):
    search_id: str
    shown: list[str]
    until: float


def remember_search(settings: Settings, server: str, answer: Data) -> None:
    """Keep what a search on a server has shown, in place of the search before. A failing write is no fault."""
    if not settings.client.feedback or not answer.get("search_id"):
        return
    hits = answer["skills"][:_REMEMBERED_RESULTS]
    skill_ids = [
        *(hit["skill"]["id"] for hit in hits),
        *(skill_id for hit in hits for skill_id in hit.get("grouped", {}).get("ids", [])),
    ]
    search = _Search(answer["search_id"], skill_ids, time.time() + _REMEMBERED_SECONDS)
    with contextlib.suppress(OSError):
        file = _file()
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with only_writer(file):
            replace_file(file, msgspec.json.encode({**_searches(), server_name(server): search}), mode=0o600)


def report_install(settings: Settings, servers: Sequence[str], skill_id: str) -> None:
    """Tell the first of some servers whose last search has shown a skill that it was installed.

    The skill is installed: nothing that fails here is a fault of the command.
    """
    if not settings.client.feedback:
        return
    searches = _searches()
    for server in servers:
        search = searches.get(server_name(server))
        if search and skill_id in search.shown:
            body = {"search_id": search.search_id, "skill_id": skill_id, "outcome": "installed"}
            with contextlib.suppress(CommandFailed), connect(settings, server) as client:
                client.call(Any, "POST", f"{API}/search/feedback", body, seconds=_PATIENCE_SECONDS)
            return


def _file() -> Path:
    return Path(click.get_app_dir("skill-registry")) / "searches.json"


def _searches() -> dict[str, _Search]:
    try:
        stored = read_json(_file().read_bytes(), dict[str, _Search])
    except (OSError, JsonUnreadable):
        return {}
    return {server: search for server, search in stored.items() if search.until > time.time()}
