"""Search and lists of the ClawHub protocol."""

from functools import partial
from typing import Any, Literal

import msgspec
from litestar import Request, get

from registry.catalog.listing import ids_named, list_cards
from registry.domain.models import Card
from registry.domain.origins import GitOrigin
from registry.errors import FieldError, validation_error
from registry.http.links import base_url
from registry.http.routes.parameters import ReadyServices
from registry.http.thread_pools import ORDINARY_POOL
from registry.protocols.clawhub.errors import ERRORS
from registry.protocols.clawhub.parameters import Cursor, Most, Prefix, SearchMode, SearchText, at_most
from registry.protocols.clawhub.references import owner_of, page_url, slug_of
from registry.protocols.clawhub.shapes import SkillList, listed, listed_skill, milliseconds, those_left
from registry.services.container import Services
from registry.services.schemas import ResolveBody, ResolvedSkill
from registry.services.search import ResolveOutcome, resolve_task

TAGS = ["clawhub"]


class Links(msgspec.Struct, kw_only=True):
    """Where a skill is shown, and where it comes from if another place has its files."""

    canonical: str
    source: str | None = None


class FoundSkill(msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True):
    """A hit. Only one with `source` can be installed from here."""

    score: float
    slug: str
    display_name: str
    summary: str
    version: str
    owner_handle: str
    updated_at: int
    source: Literal["clawhub"] | None = None
    links: Links


class FoundSkills(msgspec.Struct, kw_only=True):
    """The hits of a search, the best first."""

    results: list[FoundSkill]


class Publisher(msgspec.Struct, kw_only=True, rename="camel"):
    """The owner of a skill in a list."""

    handle: str


class Metrics(msgspec.Struct, kw_only=True, rename="camel"):
    """When a skill was changed; nothing else is counted."""

    updated_at: int


class TrendingSkill(msgspec.Struct, kw_only=True, rename="camel"):
    """A skill in a list for OpenClaw."""

    slug: str
    display_name: str
    summary: str
    source: Literal["clawhub"] = "clawhub"
    publisher: Publisher
    metrics: Metrics


class TrendingSkills(msgspec.Struct, kw_only=True):
    """The newest skills: nothing is counted that could trend."""

    items: list[TrendingSkill]


@get("/clawhub/api/v1/search", tags=TAGS, responses=ERRORS, role="user")
async def search_clawhub(
    request: Request[Any, Any, Any],
    services: ReadyServices,
    text: SearchText = "",
    limit: Most = 25,
    mode: SearchMode = "",
) -> FoundSkills:
    """Search skills. Advertised ones have no `source`, and `links` say where they come from."""
    if not text.strip():
        return FoundSkills(results=[])
    base, most = base_url(request, services), at_most(limit)
    if mode == "exact":
        return await ORDINARY_POOL.run(_named, services, base, text.strip(), most)
    task = resolve_task(services, ResolveBody(prompt=text, limit=most, group=False)).then(
        partial(_found, services, base)
    )
    skills: FoundSkills = await request.app.state.searches.run(request.scope, task)
    return skills


def _named(services: Services, base: str, name: str, limit: int) -> FoundSkills:
    named = ids_named(services.database, name)
    return FoundSkills(results=those_left(lambda skill_id: _entry(services, base, skill_id, 1.0), named)[:limit])


def _found(services: Services, base: str, outcome: ResolveOutcome) -> FoundSkills:
    hits = outcome.data.results
    return FoundSkills(results=those_left(lambda hit: _entry(services, base, hit.skill_id, hit.score, hit), hits))


def _entry(
    services: Services, base: str, skill_id: str, score: float, resolved: ResolvedSkill | None = None
) -> FoundSkill | None:
    """Return a hit, None for a skill that has no files anywhere. Raises SKILL_NOT_FOUND."""
    skill = services.catalog.get(skill_id)
    is_here = skill.installed or services.is_published(skill_id)
    origin = _origin(resolved)
    if not is_here and origin is None:
        return None
    return FoundSkill(
        score=score,
        slug=slug_of(skill_id),
        display_name=skill.name,
        summary=skill.description,
        version=skill.version,
        owner_handle=owner_of(skill_id) if is_here else str(resolved and resolved.source),
        updated_at=milliseconds(skill.updated_at),
        source="clawhub" if is_here else None,
        links=Links(canonical=page_url(base, skill_id), source=origin),
    )


def _origin(resolved: ResolvedSkill | None) -> str | None:
    """Return where an advertised skill is."""
    if resolved is None or resolved.source is None:
        return None
    return resolved.origin.url if isinstance(resolved.origin, GitOrigin) else resolved.download_url


@get("/clawhub/api/v1/skills", tags=TAGS, responses=ERRORS, role="user")
async def list_clawhub_skills(
    services: ReadyServices, limit: Most = 25, cursor: Cursor = "", prefix: Prefix = ""
) -> SkillList:
    """List skills that have files: the newest first, whatever the sort, or by name those whose slug begins so."""
    pick = _with_prefix if prefix else _newest
    return await ORDINARY_POOL.run(pick, services, at_most(limit), cursor, prefix)


def _newest(services: Services, limit: int, cursor: str, _prefix: str) -> SkillList:
    page = list_cards(services.database, limit, 0, True, after=cursor or None, newest_first=True)
    cards = [msgspec.json.decode(card, type=Card) for card in page.cards]
    here = [card for card in cards if card.installed or services.is_published(card.id)]
    return SkillList(
        items=those_left(partial(listed_skill, services), here), next_cursor=cards[-1].id if page.has_more else None
    )


def _with_prefix(services: Services, limit: int, cursor: str, prefix: str) -> SkillList:
    ids = [skill_id for skill_id in services.skill_files.listed_ids() if slug_of(skill_id).startswith(prefix)]
    if cursor and cursor not in ids:
        raise validation_error(FieldError("cursor", "must be a nextCursor of this list"))
    start = ids.index(cursor) + 1 if cursor else 0
    page = ids[start : start + limit]
    return SkillList(
        items=those_left(lambda skill_id: listed_skill(services, listed(services, skill_id)), page),
        next_cursor=page[-1] if len(ids) > start + limit else None,
    )


@get("/clawhub/api/v1/trending", tags=TAGS, responses=ERRORS, role="user")
async def list_trending(services: ReadyServices, limit: Most = 20) -> TrendingSkills:
    """List the newest skills, for OpenClaw's search without words."""
    newest = await ORDINARY_POOL.run(_newest, services, at_most(limit), "", "")
    return TrendingSkills(
        items=[
            TrendingSkill(
                slug=skill.slug,
                display_name=skill.display_name,
                summary=skill.summary,
                publisher=Publisher(handle=skill.owner_handle),
                metrics=Metrics(updated_at=skill.updated_at),
            )
            for skill in newest.items
        ]
    )


FINDING = [search_clawhub, list_clawhub_skills, list_trending]
