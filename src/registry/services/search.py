"""Use cases of search: find skills for people, and resolve them for agents."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import msgspec

from registry.catalog.installs import SHADOWED
from registry.domain.api import API
from registry.domain.file_names import printable_name
from registry.domain.findings import RISKS
from registry.errors import service_unavailable
from registry.services.container import Services
from registry.services.schemas import (
    ContentDetail,
    FoundSkill,
    ResolveBody,
    ResolveData,
    ResolvedSkill,
    SearchBody,
    SearchData,
    SearchFilters,
)
from registry.services.skills import read_skill
from search.explanation import Explanation
from search.service import Hit, Results, SearchRequest, SemanticUnavailable
from search.types import Filter

PREVIEW_CHARACTERS = 500
MAX_LIMIT = 100
"""The most skills of one answer; a greater limit counts as this one."""

DISABLED = "enabled:false"
STARTING = "the skills directory is still being read: results may be incomplete"


class _CardStart(msgspec.Struct):
    name: str
    description: str


def _search_request(body: SearchBody) -> SearchRequest:
    """Return the engine's form of a request."""
    allowed = _allowed(body.filters or SearchFilters())
    return SearchRequest(body.query, _used_limit(body), body.offset, body.mode, allowed, body.min_score, body.explain)


def _used_limit(body: SearchBody) -> int:
    return min(body.limit, MAX_LIMIT)


def _allowed(filters: SearchFilters) -> Filter:
    groups: list[tuple[str, ...]] = [(f"tag:{tag.casefold()}",) for tag in filters.tags]
    groups += [(f"capability:{capability.casefold()}",) for capability in filters.capabilities]
    for name in ("source", "scope", "installed", "enabled"):
        value = getattr(filters, name)
        if value is not None:
            groups.append((f"{name}:{str(value).lower() if isinstance(value, bool) else value}",))
    if filters.max_risk is not None:
        groups.append(tuple(f"risk:{risk}" for risk in RISKS[: RISKS.index(filters.max_risk) + 1]))
    return Filter(tuple(groups), (SHADOWED,) if filters.enabled is False else (DISABLED, SHADOWED))


class SearchOutcome(NamedTuple):
    """What a search found. `holds_at` is the revision it is true of, None where it must not be cached."""

    data: SearchData
    holds_at: int | None


def search_skills(services: Services, body: SearchBody) -> SearchOutcome:
    """Search. Raises SERVICE_UNAVAILABLE where semantic search is required and cannot run."""
    started = time.perf_counter()
    return _outcome(services, body, _search(services, _search_request(body)), started)


def search_without_waiting(services: Services, body: SearchBody) -> SearchOutcome | None:
    """Return what `search_skills` returns, or None where that would have to wait for something."""
    started = time.perf_counter()
    with _requiring():
        results = services.engine.search.search_nowait(_search_request(body))
    return None if results is None else _outcome(services, body, results, started)


def _shown_explanation(services: Services, hit: Hit) -> Explanation | None:
    """Return the explanation of a hit, in a registry without its examples: they are queries of other callers."""
    if hit.explanation is not None and services.settings.profile == "registry":
        hit.explanation.examples = []
    return hit.explanation


def _outcome(services: Services, body: SearchBody, results: Results, started: float) -> SearchOutcome:
    texts = _texts(services, results.hits, body.content)
    skills = [
        FoundSkill(
            score=hit.score,
            relevance=hit.relevance,
            matched_by=hit.matched_by,
            skill=msgspec.Raw(hit.payload),
            content=texts.get(hit.key),
            explanation=_shown_explanation(services, hit),
        )
        for hit in results.hits
    ]
    complete = services.ready.is_set()
    data = SearchData(
        query=body.query,
        mode=results.mode,
        limit=_used_limit(body),
        count=len(skills),
        took_ms=round((time.perf_counter() - started) * 1000, 3),
        warnings=results.warnings if complete else [*results.warnings, STARTING],
        skills=skills,
        search_id=services.feedback.search_id(body.query, [hit.key for hit in results.hits]),
    )
    return SearchOutcome(data, results.revision if complete and not results.warnings else None)


def resolve_skills(services: Services, body: ResolveBody) -> ResolveData:
    """Search for an agent, and return what it needs to load each skill."""
    results = _search(services, _resolve_request(body))
    texts = _texts(services, results.hits, body.content)
    found = []
    for hit in results.hits:
        card = msgspec.json.decode(hit.payload, type=_CardStart)
        skill = read_skill(services, hit.id)
        resolved = ResolvedSkill(
            skill_id=hit.id,
            name=card.name,
            description=card.description,
            score=hit.score,
            content=texts.get(hit.key),
            explanation=_shown_explanation(services, hit),
        )
        if skill.installed:
            resolved.skill_md_path = printable_name(str(services.local.root / (skill.skill_file or "")))
        elif skill.download_url is not None:
            resolved.download_url, resolved.checksum = skill.download_url, skill.digest
        elif (listed := services.sources.advertised(hit.key)) is None:
            resolved.download_url = services.settings.absolute(f"{API}/skills/{hit.id}/content")
        else:
            resolved.source, resolved.origin, resolved.download_url = skill.source, listed.origin, listed.download_url
        found.append(resolved)
    return ResolveData(query=body.prompt, results=found)


def _resolve_request(body: ResolveBody) -> SearchRequest:
    """Return the engine's form of an agent's request."""
    return _search_request(SearchBody(query=body.prompt, limit=body.limit, explain=body.explain))


@contextmanager
def _requiring() -> Iterator[None]:
    """Raise SERVICE_UNAVAILABLE where semantic search is required and cannot run."""
    try:
        yield
    except SemanticUnavailable as error:
        raise service_unavailable(str(error), retry_after=5) from None


def _search(services: Services, request: SearchRequest) -> Results:
    with _requiring():
        return services.engine.search.search(request)


def _texts(services: Services, hits: list[Hit], detail: ContentDetail) -> dict[int, str]:
    if detail == "none" or not hits:
        return {}
    bodies = services.documents.bodies([hit.key for hit in hits])
    return bodies if detail == "full" else {key: body[:PREVIEW_CHARACTERS] for key, body in bodies.items()}
