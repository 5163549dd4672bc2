"""The search of `npx skills find`, which asks `SKILLS_API_URL`."""

from functools import partial
from typing import Annotated, Any

import msgspec
from litestar import Request, get
from litestar.params import QueryParameter

from registry.domain.origins import GitOrigin
from registry.http.links import base_url
from registry.http.routes.parameters import ERRORS, ReadyServices
from registry.services.container import Services
from registry.services.names import name_of
from registry.services.schemas import ResolveBody, ResolvedSkill
from registry.services.search import ResolveOutcome, resolve_task

SearchText = Annotated[str, QueryParameter(name="q", description="What to look for")]
Most = Annotated[int, QueryParameter(ge=1, le=100, description="How many to answer")]


class FoundEntry(msgspec.Struct, kw_only=True):
    """A hit. `source` is what `npx skills add` takes. The client sorts by `installs`, so that 0 keeps the order."""

    id: str
    name: str
    source: str
    installs: int = 0


class FoundEntries(msgspec.Struct, kw_only=True):
    """The hits of a search, best first."""

    skills: list[FoundEntry]


@get("/find/api/search", tags=["well-known discovery"], responses=ERRORS, role="user")
async def find(
    request: Request[Any, Any, Any], services: ReadyServices, text: SearchText = "", limit: Most = 20
) -> FoundEntries:
    """Search skills that `npx skills add` can install."""
    if not text.strip():
        return FoundEntries(skills=[])
    base = base_url(request, services)
    task = resolve_task(services, ResolveBody(prompt=text, limit=limit, group=False)).then(
        partial(_found, services, base)
    )
    entries: FoundEntries = await request.app.state.searches.run(request.scope, task)
    return entries


def _found(services: Services, base: str, outcome: ResolveOutcome) -> FoundEntries:
    entries = (_entry(services, base, skill) for skill in outcome.data.results)
    return FoundEntries(skills=[entry for entry in entries if entry is not None])


def _entry(services: Services, base: str, skill: ResolvedSkill) -> FoundEntry | None:
    name = name_of(skill.skill_id)
    if name is None:
        return None
    if skill.skill_md_path is not None or services.is_published(skill.skill_id):
        return FoundEntry(id=skill.skill_id, name=name, source=f"{base}/s/{skill.skill_id}")
    if isinstance(skill.origin, GitOrigin):
        return FoundEntry(id=skill.skill_id, name=name, source=skill.origin.url)
    return None


FIND = [find]
