"""Use cases of search: find skills for people, and resolve them for agents."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Generic, NamedTuple, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from registry.catalog.dependents import dependencies_of
from registry.catalog.locations import Location, locations
from registry.domain.api import API
from registry.domain.file_names import printable_name
from registry.domain.findings import Risk
from registry.domain.source_entry import REGISTRY
from registry.errors import service_unavailable
from registry.services.completeness import EMPTY, STARTING
from registry.services.container import Services
from registry.services.facets import count_facets
from registry.services.filters import allowed
from registry.services.hit_texts import find_texts, left_out
from registry.services.listing import in_order
from registry.services.pasted_addresses import named_by_address
from registry.services.schemas import (
    FoundSkill,
    Grouped,
    ResolveBody,
    ResolveData,
    ResolvedSkill,
    SearchBody,
    SearchData,
    SearchFilters,
)
from registry.services.snippets import find_snippets
from search.corrections import Correction
from search.explanation import Explanation
from search.prompt.reading import left_out_notes
from search.requests import Hit, Results, SearchRequest, SemanticUnavailable

MAX_LIMIT = 100
"""The most skills of one answer; a greater limit counts as this one."""

_HIGHLIGHTED_AT_ONCE = 20
"""Passages that are found without a thread: a long query over hostile texts takes up to half a millisecond each."""

_COPIES_IN_SEARCH_ID = 100

_IN_ADDRESSES = frozenset("/@")
"""Characters of which an address has at least one. Most queries have none."""


class _CardStart(msgspec.Struct):
    name: str
    description: str
    findings: Risk | None = None


def _search_request(services: Services, body: SearchBody) -> SearchRequest:
    """Return the engine's form of a request."""
    request = SearchRequest(
        body.query,
        _used_limit(body),
        body.offset,
        body.mode,
        allowed(body.filters or SearchFilters()),
        body.min_score,
        body.explain,
        body.group,
        body.weak,
        partial(in_order, services.documents, services.usage.recent, body.sort) if body.sort != "relevance" else None,
    )
    if _IN_ADDRESSES.isdisjoint(body.query):
        return request
    return request._replace(named=partial(named_by_address, body.query, services.sources.entries))


def _used_limit(body: SearchBody) -> int:
    return min(body.limit, MAX_LIMIT)


_Found = TypeVar("_Found")
_Made = TypeVar("_Made")
_Data = TypeVar("_Data", SearchData, ResolveData)


class SearchTask(NamedTuple, Generic[_Found]):
    """A search whose caller decides when and where it runs.

    `waits_for_others` returns whether it waits for a provider, another process, or a model that is being loaded.
    `at_once` searches, or returns None where that takes more than a few milliseconds. `search` always searches. Both
    may raise SERVICE_UNAVAILABLE.
    """

    waits_for_others: Callable[[], bool]
    at_once: Callable[[], _Found | None]
    search: Callable[[], _Found]

    def then(self, make: Callable[[_Found], _Made]) -> "SearchTask[_Made]":
        """Return the task that makes something of what is found, where it is found."""
        return SearchTask(self.waits_for_others, partial(_made_of, self.at_once, make), lambda: make(self.search()))


# No functions within functions here: their annotations are evaluated in every search.
def _made_of(search: Callable[[], _Found | None], make: Callable[[_Found], _Made]) -> _Made | None:
    result = search()
    return None if result is None else make(result)


class Outcome(NamedTuple, Generic[_Data]):
    """What a search found. `holds_at` is the revision it is true of, None where it must not be cached."""

    data: _Data
    holds_at: int | None


SearchOutcome = Outcome[SearchData]
ResolveOutcome = Outcome[ResolveData]


def search_skills(services: Services, body: SearchBody) -> SearchOutcome:
    """Search. Raises SERVICE_UNAVAILABLE where semantic search is required and cannot run."""
    started = time.perf_counter()
    return _outcome(services, body, _search(services, _search_request(services, body)), started)


def search_task(services: Services, body: SearchBody) -> SearchTask[SearchOutcome]:
    """Return `search_skills` as a task."""
    request = _search_request(services, body)
    waits = partial(services.engine.search.waits_for_others, request)
    at_once = partial(_search_at_once, services, body, request)
    return SearchTask(waits, at_once, partial(search_skills, services, body))


def _search_at_once(services: Services, body: SearchBody, request: SearchRequest) -> SearchOutcome | None:
    is_slow = body.facets or body.content == "full" or request.order is not None
    if is_slow or (body.highlight and body.limit > _HIGHLIGHTED_AT_ONCE):
        return None
    started = time.perf_counter()
    results = _search_nowait(services, request)
    return None if results is None else _outcome(services, body, results, started)


def _shown_explanation(services: Services, hit: Hit) -> Explanation | None:
    """Return the explanation of a hit, in a registry without its examples: they are queries of other callers."""
    if hit.explanation is not None and services.settings.profile == "registry":
        hit.explanation.examples = []
    return hit.explanation


def _shown(hits: Sequence[Hit]) -> list[int]:
    """Return the keys of the hits, and of as many of their copies as a search id has room for."""
    copies = (key for hit in hits for key in hit.copies.keys)
    return [*(hit.key for hit in hits), *islice(copies, _COPIES_IN_SEARCH_ID)]


def _grouped(hit: Hit) -> Grouped | None:
    return Grouped(count=hit.copies.number, ids=hit.copies.ids) if hit.copies.number else None


def _outcome(services: Services, body: SearchBody, results: Results, started: float) -> SearchOutcome:
    texts = find_texts(services.documents, results.hits, body.content)
    snippets = find_snippets(services.documents, results.prompt.spelling.words, results.hits) if body.highlight else {}
    skills = [
        FoundSkill(
            score=hit.score,
            relevance=hit.relevance,
            matched_by=hit.matched_by,
            skill=msgspec.Raw(services.usage.shown(hit.key, hit.payload)),
            content=texts.get(hit.key),
            snippet=snippets.get(hit.key),
            explanation=_shown_explanation(services, hit),
            grouped=_grouped(hit),
        )
        for hit in results.hits
    ]
    data = SearchData(
        query=body.query,
        mode=results.mode,
        limit=_used_limit(body),
        count=len(skills),
        total=results.total.number,
        total_is_floor=results.total.is_floor,
        took_ms=round((time.perf_counter() - started) * 1000, 3),
        warnings=[
            *_warnings(services, results),
            *_ignored(body.ignored),
            *left_out(results.hits, texts, body.content),
        ],
        skills=skills,
        facets=count_facets(services.documents, results.total.keys) if body.facets else UNSET,
        search_id=services.feedback.search_id(results.prompt.prompt.text, _shown(results.hits)),
        corrections=_corrections(results),
    )
    return Outcome(data, _holds_at(services, results))


def _corrections(results: Results) -> list[Correction] | UnsetType:
    return list(results.prompt.spelling.corrections) or UNSET


def _warnings(services: Services, results: Results) -> list[str]:
    return [*results.warnings, *_progress(services, results), *left_out_notes(results.prompt.prompt)]


def _ignored(names: Iterable[str]) -> list[str]:
    return [f"ignored: a search has no field '{name}'" for name in names]


def _progress(services: Services, results: Results) -> list[str]:
    """Return what is still to be read or embedded. The latter holds at one revision, so such results may be cached."""
    if not services.ready.is_set():
        return [STARTING]
    if not results.documents:
        return [EMPTY[services.settings.profile]]
    if results.embedded is None:
        return []
    indexer, documents = services.engine.indexer, results.documents
    refused = len(indexer.refused()) if indexer is not None else 0
    if results.embedded + refused >= documents:
        return []
    progress = f"{results.embedded:,} of {documents:,}"
    return [f"indexing: {progress} skills can be found by meaning so far, the others by words only"]


def _holds_at(services: Services, results: Results) -> int | None:
    """Return the revision that the results are true of, None for those that must not be cached."""
    return results.revision if services.ready.is_set() and not results.warnings else None


def resolve_skills(services: Services, body: ResolveBody) -> ResolveOutcome:
    """Search for an agent, and return what it needs to load each skill. Raises SERVICE_UNAVAILABLE."""
    return _resolved(services, body, _search(services, _resolve_request(services, body)))


def resolve_task(services: Services, body: ResolveBody) -> SearchTask[ResolveOutcome]:
    """Return `resolve_skills` as a task."""
    request = _resolve_request(services, body)
    waits = partial(services.engine.search.waits_for_others, request)
    at_once = partial(_resolve_at_once, services, body, request)
    return SearchTask(waits, at_once, partial(resolve_skills, services, body))


def _resolve_at_once(services: Services, body: ResolveBody, request: SearchRequest) -> ResolveOutcome | None:
    if body.content == "full":
        return None
    results = _search_nowait(services, request)
    return None if results is None else _resolved(services, body, results)


def _resolved(services: Services, body: ResolveBody, results: Results) -> ResolveOutcome:
    texts = find_texts(services.documents, results.hits, body.content)
    keys = [hit.key for hit in results.hits]
    places, needed = locations(services.database, keys), dependencies_of(services.database, keys)
    skills = []
    for hit in results.hits:
        if hit.key not in places:
            continue  # it was deleted a moment ago
        card = msgspec.json.decode(hit.payload, type=_CardStart)
        skill = ResolvedSkill(
            skill_id=hit.id,
            name=card.name,
            description=card.description,
            score=hit.score,
            relevance=hit.relevance,
            risk=card.findings,
            dependencies=needed.get(hit.key, []),
            content=texts.get(hit.key),
            explanation=_shown_explanation(services, hit),
            grouped=_grouped(hit),
        )
        _locate(services, skill, places[hit.key])
        skills.append(skill)
    data = ResolveData(
        query=body.prompt,
        warnings=[*_warnings(services, results), *_ignored(body.ignored)],
        results=skills,
        corrections=_corrections(results),
    )
    return Outcome(data, _holds_at(services, results))


def _locate(services: Services, skill: ResolvedSkill, place: Location) -> None:
    """Set from where an agent can load a skill."""
    if place.installed:
        skill.skill_md_path = printable_name(str(services.local.root / (place.skill_file or "")))
    elif place.source == REGISTRY and services.is_published(place.id):
        skill.download_url = services.settings.package_urls.of(place.id, place.version)
        skill.checksum = place.digest
    elif place.listed is None:
        skill.download_url = services.settings.absolute(f"{API}/skills/{place.id}/content")
    else:
        skill.source, skill.origin = place.source, place.listed.origin
        skill.download_url = place.listed.download_url


def _resolve_request(services: Services, body: ResolveBody) -> SearchRequest:
    """Return the engine's form of an agent's request."""
    filters = msgspec.structs.replace(body.filters or SearchFilters(), model_invocation=True)
    return _search_request(
        services,
        SearchBody(query=body.prompt, limit=body.limit, explain=body.explain, filters=filters, group=body.group),
    )


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


def _search_nowait(services: Services, request: SearchRequest) -> Results | None:
    with _requiring():
        return services.engine.search.search_nowait(request)
