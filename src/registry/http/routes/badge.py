"""A badge of a skill for the page of its repository: its version, and whether it is withdrawn or risky."""

from collections.abc import Mapping
from html import escape
from types import MappingProxyType
from typing import Any

import msgspec
from litestar import Request, Response, get

from registry.domain.models import Skill
from registry.http.routes.parameters import ERRORS, ReadyServices, each, skill_id
from registry.http.thread_pools import ORDINARY_POOL

_HEADERS = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'"}
_COLOUR = "#3b5bdb"
_RISKY: Mapping[str, str] = MappingProxyType({"medium": "#b35900", "high": "#c92a2a"})
_WITHDRAWN_COLOUR = "#5c5f66"
_CHARACTER = 6.6  # pixels of an average character of 11 pixels' height
_PADDING = 12
_MAX_CHARACTERS = 60


@get(each("/badges/{id}"), tags=["skills"], responses=ERRORS, role="user", media_type="image/svg+xml")
@ORDINARY_POOL.handler
def get_badge(request: Request[Any, Any, Any], services: ReadyServices) -> Response[bytes]:
    """Return an SVG badge of a skill: its name, version, and state or risk."""
    skill = services.catalog.get(skill_id(request))
    return Response(_badge(skill).encode(), media_type="image/svg+xml", headers=_HEADERS)


def _badge(skill: Skill) -> str:
    risk = skill.findings.risk if skill.findings else "none"
    state, colour = "", _COLOUR
    if skill.withdrawn is not msgspec.UNSET:
        state, colour = skill.withdrawn.state, _WITHDRAWN_COLOUR
    elif risk in _RISKY:
        state, colour = f"{risk} risk", _RISKY[risk]
    left = skill.id if len(skill.id) <= _MAX_CHARACTERS else f"{skill.id[:_MAX_CHARACTERS]}…"
    right = f"{skill.version} {state}".strip()
    first, second = (round(len(text) * _CHARACTER) + _PADDING for text in (left, right))
    width, title = first + second, escape(f"{left} {right}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{title}">'
        f'<title>{title}</title><clipPath id="round"><rect width="{width}" height="20" rx="3"/></clipPath>'
        f'<g clip-path="url(#round)"><rect width="{first}" height="20" fill="#343a40"/>'
        f'<rect x="{first}" width="{second}" height="20" fill="{colour}"/></g>'
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f'<text x="{first / 2}" y="14" textLength="{first - _PADDING}">{escape(left)}</text>'
        f'<text x="{first + second / 2}" y="14" textLength="{second - _PADDING}">{escape(right)}</text></g></svg>\n'
    )
