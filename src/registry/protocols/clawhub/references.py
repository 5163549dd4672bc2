"""Which skill a slug and an owner mean. The slug is the name of a skill, the owner its scope."""

import re
from typing import Any

from litestar import Request

from registry.catalog.listing import ids_named
from registry.domain.roles import Principal
from registry.errors import skill_not_found
from registry.http.links import base_url
from registry.protocols.clawhub.errors import AmbiguousSlug, Match
from registry.services.container import Services

LOCAL_OWNER = "local"
"""The owner of skills without a scope."""

_SEGMENT = re.compile(r"[^/\s\x00-\x1f\x7f]{1,100}")


def slug_of(skill_id: str) -> str:
    """Return the slug of a skill."""
    return skill_id.rpartition("/")[2]


def owner_of(skill_id: str) -> str:
    """Return the owner of a skill."""
    return skill_id.rpartition("/")[0] or LOCAL_OWNER


def owner_handle(text: str | None) -> str | None:
    """Return the owner that a client names, which may have an `@` before it."""
    return (text or "").strip().lstrip("@").lower() or None


def page_url(base: str, skill_id: str) -> str:
    """Return the address of the page that shows a skill."""
    return f"{base}/dashboard?skill={skill_id}"


def find_id(request: Request[Any, Any, Any], services: Services, slug: str, owner: str | None) -> str:
    """Return the id that a slug and an owner, if any, mean. With an owner, there need not be such a skill.

    Raises SKILL_NOT_FOUND, AmbiguousSlug.
    """
    handle = owner_handle(owner)
    if not _SEGMENT.fullmatch(slug) or (handle is not None and not _SEGMENT.fullmatch(handle)):
        raise skill_not_found(slug)
    if handle is not None:
        return _owned(services, slug, handle)
    ids = ids_named(services.database, slug)
    if not ids:
        raise skill_not_found(slug)
    if len(ids) > 1:
        base = base_url(request, services)
        raise AmbiguousSlug(slug, [_match(base, skill_id) for skill_id in ids])
    return ids[0]


def find_own_id(
    request: Request[Any, Any, Any], services: Services, slug: str, owner: str | None, caller: Principal | None
) -> str:
    """Return the id of a skill that the caller wants to change; without an owner, it is rather one of the caller.

    Raises SKILL_NOT_FOUND, AmbiguousSlug.
    """
    if owner_handle(owner) is None and caller is not None and caller.scope is not None:
        own = find_id(request, services, slug, caller.scope)
        if services.catalog.has(own) or services.is_published(own):
            return own
    return find_id(request, services, slug, owner)


def _owned(services: Services, slug: str, handle: str) -> str:
    if handle == LOCAL_OWNER and (services.settings.profile == "local" or services.catalog.has(slug)):
        return slug
    return f"{handle}/{slug}"


def _match(base: str, skill_id: str) -> Match:
    owner, slug = owner_of(skill_id), slug_of(skill_id)
    return Match(owner_handle=owner, slug=slug, ref=f"@{owner}/{slug}", url=page_url(base, skill_id))
