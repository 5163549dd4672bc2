"""The Atom feed of new versions."""

import hashlib
from datetime import datetime
from email.utils import format_datetime
from typing import Any
from urllib.parse import quote

import msgspec
from litestar import Request, Response, get

from registry.catalog.listing import NewestVersion, newest_versions
from registry.domain.models import Card
from registry.http.atom import MEDIA_TYPE, FeedEntry, feed
from registry.http.conditional_requests import not_modified
from registry.http.links import base_url
from registry.http.routes.parameters import ERRORS, ReadyServices
from registry.http.thread_pools import ORDINARY_POOL
from registry.services.container import Services
from registry.transparency.log import LogEntry

FEED_PATH = "/feed.atom"
_MOST_ENTRIES = 50


@get(FEED_PATH, tags=["feeds"], responses=ERRORS, role="user", basic=True, media_type=MEDIA_TYPE)
async def get_feed(request: Request[Any, Any, Any], services: ReadyServices) -> Response[bytes]:
    """Return the newest 50 versions and withdrawals as an Atom feed. Feed readers may send a token as a password."""
    content, newest = await ORDINARY_POOL.run(_feed, services, base_url(request, services))
    headers = {"X-Content-Type-Options": "nosniff"}
    if newest:
        headers["Last-Modified"] = format_datetime(datetime.fromisoformat(newest), usegmt=True)
    answer = not_modified(request, content, f'"{hashlib.sha256(content).hexdigest()[:32]}"', headers)
    answer.media_type = MEDIA_TYPE
    return answer


def _feed(services: Services, base: str) -> tuple[bytes, str | None]:
    """Return the feed, and the time of its newest entry."""
    catalog = services.documents.catalog_id
    entries = [_entry(catalog, base, version) for version in newest_versions(services.database, _MOST_ENTRIES)]
    if services.settings.profile == "registry":
        entries += [_logged(catalog, base, *entry) for entry in services.registry.log.last_withdrawals(_MOST_ENTRIES)]
        entries = sorted(entries, key=lambda entry: entry.at, reverse=True)[:_MOST_ENTRIES]
    content = feed(catalog, "New versions of skills", f"{base}{FEED_PATH}", f"{base}/", entries)
    return content, entries[0].at if entries else None


def _entry(catalog: str, base: str, version: NewestVersion) -> FeedEntry:
    card = msgspec.json.decode(version.card, type=Card)
    name = f"{card.id}@{version.version}"
    scope = card.id.rpartition("/")[0]
    changes = "\n".join(f"- {change}" for change in version.changes)
    return FeedEntry(
        key=f"{catalog}/{name}",
        title=f"{card.id} {version.version}",
        url=f"{base}/skills/{quote(name, safe='/@')}",
        author=card.author or scope or "unknown",
        at=version.created_at,
        text=f"{version.description}\n\n{changes}".strip(),
        tags=card.tags,
    )


_RESTORED = {"unyank": "listed again", "undeprecate": "not deprecated any more"}


def _logged(catalog: str, base: str, number: int, text: str) -> FeedEntry:
    """Return the entry for one of the log that withdraws or restores something."""
    entry = msgspec.json.decode(text, type=LogEntry)
    skill_id, withdrawn = str(entry.skill_id), entry.withdrawn
    name = skill_id if entry.version is None else f"{skill_id} {entry.version}"
    return FeedEntry(
        key=f"{catalog}/log/{number}",
        title=f"{name}: {withdrawn.state if withdrawn else _RESTORED[entry.kind]}",
        url=f"{base}/skills/{quote(skill_id, safe='/@')}",
        author=skill_id.partition("/")[0],
        at=entry.at,
        text=f"{name} was {withdrawn.words if withdrawn else _RESTORED[entry.kind]}",
        tags=[],
    )


FEED = [get_feed]
