"""Tells the counts of uses what a request has used. A request with HEAD uses nothing."""

from typing import Any

from litestar import Request

from registry.catalog.uses import UseKind
from registry.http.request_state import request_state
from registry.http.requests_in_progress import caller_of


def count_use(request: Request[Any, Any, Any], skill_id: str, kind: UseKind) -> None:
    """Count a use of a skill by the caller of a request."""
    if not request_state(request.scope).is_head:
        request.app.state.services.usage.count(skill_id, kind, caller_of(request.scope))
