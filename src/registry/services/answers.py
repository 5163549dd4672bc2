"""The `data` of the answers that are more than one record: the same whether asked over HTTP or on the command line."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Literal, NamedTuple

import msgspec
from msgspec import Meta

from registry import __version__
from registry.catalog.installs import SHADOWED
from registry.domain.findings import RISKS, Risk
from registry.domain.origins import Origin
from registry.errors import service_unavailable
from registry.services.container import Services
from search.service import Hit, Results, SearchRequest, SemanticUnavailable
from search.types import Filter, MatchedBy, Mode, RanMode, Relevance

PREVIEW_CHARACTERS = 500

DISABLED = "enabled:false"
STARTING = "the skills directory is still being read: results may be incomplete"

Query = Annotated[
    str,
    Meta(
        max_length=2000,
        pattern=r"\S",
        extra={"rule": "must be 1 to 2,000 characters, not all white space", "multiline": True},
    ),
]
Limit = Annotated[int, Meta(ge=1, le=2**53, extra={"rule": "must be a number from 1 on; above 100 counts as 100"})]
Offset = Annotated[int, Meta(ge=0, le=2**53, extra={"rule": "must be a number from 0 on"})]
Score = Annotated[float, Meta(ge=0, le=1, extra={"rule": "must be a number from 0 to 1"})]
Label = Annotated[str, Meta(min_length=1, max_length=100, extra={"rule": "must be 1 to 100 characters"})]
ContentDetail = Literal["none", "preview", "full"]


class SearchFilters(msgspec.Struct, kw_only=True):
    """Which skills may be found: those with all of the tags and capabilities, and every other value given.

    `max_risk` admits skills whose findings are no graver; where nothing has looked for any, a skill is not admitted.
    """

    tags: list[Label] = msgspec.field(default_factory=list)
    capabilities: list[Label] = msgspec.field(default_factory=list)
    source: Label | None = None
    scope: Label | None = None
    installed: bool | None = None
    enabled: bool | None = None
    max_risk: Risk | None = None


class SearchBody(msgspec.Struct, kw_only=True):
    """The body of a search."""

    query: Query
    limit: Limit = 10
    offset: Offset = 0
    mode: Mode = "auto"
    filters: SearchFilters | None = None
    min_score: Score = 0.0
    content: ContentDetail = "none"


class FoundSkill(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One hit: how good it is, why it is one, and the skill's card."""

    score: float
    relevance: Relevance
    matched_by: tuple[MatchedBy, ...]
    skill: msgspec.Raw
    content: str | None = None


class SearchData(msgspec.Struct, kw_only=True):
    """What a search found. `mode` is what really ran; `count` is the number of skills in this answer."""

    query: str
    mode: RanMode
    count: int
    took_ms: float
    warnings: list[str]
    skills: list[FoundSkill]


class ResolveBody(msgspec.Struct, kw_only=True):
    """The body of a search by an agent: its prompt."""

    prompt: Query
    limit: Limit = 5
    content: ContentDetail = "none"


class ResolvedSkill(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One skill for an agent: where its SKILL.md is on this machine, at a URL path, or in its source."""

    skill_id: str
    name: str
    description: str
    score: float
    skill_md_path: str | None = None
    source: str | None = None
    origin: Origin | None = None
    download_url: str | None = None
    content: str | None = None


class ResolveData(msgspec.Struct, kw_only=True):
    """The skills that fit an agent's prompt, best first."""

    query: str
    results: list[ResolvedSkill]


class EmbeddingStatus(msgspec.Struct, kw_only=True):
    """Which model makes the vectors; null throughout where search is by words."""

    provider: str | None
    model: str | None
    dim: int | None
    error: str | None


class StatusData(msgspec.Struct, kw_only=True):
    """How the service is. `skipped` says which folders could not be read, and why; `warnings` what was untidy.

    `issuer` says who gets a token without a credential: anybody, nobody, or callers on loopback; `anonymous_read`
    whether reading needs one. Both are null where there are no tokens.
    """

    status: Literal["ok", "starting", "draining"]
    version: str
    profile: str
    uptime_seconds: float
    skills: int
    indexed: int
    pending: int
    drift: int
    embedding: EmbeddingStatus
    generation: int
    writable: bool
    issuer: Literal["open", "closed", "loopback"] | None
    anonymous_read: bool | None
    skipped: dict[str, str]
    warnings: dict[str, list[str]]


class _CardStart(msgspec.Struct):
    name: str
    description: str


def search_request(body: SearchBody) -> SearchRequest:
    """Return what the search engine is asked for a body."""
    limit = min(body.limit, 100)
    return SearchRequest(
        body.query, limit, body.offset, body.mode, _allowed(body.filters or SearchFilters()), body.min_score
    )


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
    """What a search found, and up to which change number that holds; None where it should be tried again."""

    data: SearchData
    holds_at: int | None


def search_data(services: Services, body: SearchBody) -> SearchOutcome:
    """Search and return what was found. Raises SERVICE_UNAVAILABLE where only semantic search would do."""
    started = time.perf_counter()
    return _search_answer(services, body, _search(services, search_request(body)), started)


def search_data_at_once(services: Services, body: SearchBody) -> SearchOutcome | None:
    """Return what `search_data` would, or None where that has to wait for something."""
    started = time.perf_counter()
    with _insisting():
        results = services.engine.search.search_nowait(search_request(body))
    return None if results is None else _search_answer(services, body, results, started)


def _search_answer(services: Services, body: SearchBody, results: Results, started: float) -> SearchOutcome:
    texts = _texts(services, results.hits, body.content)
    skills = [
        FoundSkill(
            score=hit.score,
            relevance=hit.relevance,
            matched_by=hit.matched_by,
            skill=msgspec.Raw(hit.payload),
            content=texts.get(hit.key),
        )
        for hit in results.hits
    ]
    complete = services.ready.is_set()
    data = SearchData(
        query=body.query,
        mode=results.mode,
        count=len(skills),
        took_ms=round((time.perf_counter() - started) * 1000, 3),
        warnings=results.warnings if complete else [*results.warnings, STARTING],
        skills=skills,
    )
    return SearchOutcome(data, results.revision if complete and not results.warnings else None)


def resolve_data(services: Services, body: ResolveBody) -> ResolveData:
    """Search for an agent and return what it needs to load the skills found."""
    results = _search(services, resolve_request(body))
    texts = _texts(services, results.hits, body.content)
    found = []
    for hit in results.hits:
        card = msgspec.json.decode(hit.payload, type=_CardStart)
        skill = services.catalog.get(hit.id)
        resolved = ResolvedSkill(
            skill_id=hit.id,
            name=card.name,
            description=card.description,
            score=hit.score,
            content=texts.get(hit.key),
        )
        if skill.installed:
            resolved.skill_md_path = str(services.local.root / (skill.skill_file or ""))
        elif (listed := services.sources.advertised(hit.key)) is None:
            resolved.download_url = f"/api/v1/skills/{hit.id}/content"
        else:
            resolved.source, resolved.origin, resolved.download_url = skill.source, listed.origin, listed.download_url
        found.append(resolved)
    return ResolveData(query=body.prompt, results=found)


def resolve_request(body: ResolveBody) -> SearchRequest:
    """Return what the search engine is asked for an agent's prompt."""
    return search_request(SearchBody(query=body.prompt, limit=body.limit))


@contextmanager
def _insisting() -> Iterator[None]:
    """Say SERVICE_UNAVAILABLE where only semantic search would do and cannot be had."""
    try:
        yield
    except SemanticUnavailable as error:
        raise service_unavailable(str(error), retry_after=5) from None


def _search(services: Services, request: SearchRequest) -> Results:
    with _insisting():
        return services.engine.search.search(request)


def _texts(services: Services, hits: list[Hit], detail: ContentDetail) -> dict[int, str]:
    if detail == "none" or not hits:
        return {}
    bodies = services.documents.bodies([hit.key for hit in hits])
    return bodies if detail == "full" else {key: body[:PREVIEW_CHARACTERS] for key, body in bodies.items()}


def status_data(services: Services, *, in_full: bool = True) -> StatusData:
    """Return how the service is; only `in_full` says which folders were skipped or untidy."""
    engine = services.engine.status()
    is_local = services.settings.profile == "local"
    state: Literal["ok", "starting", "draining"] = "ok" if services.ready.is_set() else "starting"
    return StatusData(
        status="draining" if services.draining else state,
        version=__version__,
        profile=services.settings.profile,
        uptime_seconds=round(time.monotonic() - services.started_at, 3),
        skills=services.catalog.count(),
        indexed=engine.indexed,
        pending=engine.pending,
        drift=engine.drift,
        embedding=EmbeddingStatus(
            provider=engine.provider, model=engine.model, dim=engine.dim, error=engine.last_error
        ),
        generation=engine.generation,
        writable=services.writable(),
        issuer=None if is_local else services.registry.issuer.mode,
        anonymous_read=None if is_local else services.settings.auth.anonymous_read,
        skipped=services.catalog.problems() if in_full else {},
        warnings=services.catalog.warnings() if in_full else {},
    )
