"""The next page of a list, in the `Link` header (RFC 8288): by an opaque cursor in the query, or by the offset."""

import base64
import binascii
import re
from typing import Annotated, Any, TypeVar
from urllib.parse import parse_qsl, urlencode

from litestar import Request, Response
from litestar.params import QueryParameter

from registry.catalog.listing import CardPage, Position
from registry.errors import FieldError, validation_error
from registry.http.conditional_requests import tagged
from registry.http.envelope import Ok, Pagination
from registry.http.links import base_url
from registry.http.query_params import Page
from registry.services.container import Services

Cursor = Annotated[
    str,
    QueryParameter(max_length=64, description="Where the page begins: from the `Link` header of the page before"),
]
_Item = TypeVar("_Item")
_POSITION = re.compile(rb"([0-9]{1,16})\.([0-9]{1,16})")


def position_at(cursor: str, page: Page) -> Position | None:
    """Return the position of a cursor; None for an empty one. Raises VALIDATION_ERROR, also for an offset beside it."""
    if not cursor:
        return None
    if page.offset:
        raise validation_error(FieldError("offset", "cannot be combined with cursor"))
    try:
        decoded = base64.b64decode(cursor.encode() + b"=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        decoded = b""
    match = _POSITION.fullmatch(decoded)
    if match is None:
        raise validation_error(FieldError("cursor", "must be one from the Link header of the page before"))
    return Position(int(match[1]), int(match[2]))


def next_page(request: Request[Any, Any, Any], services: Services, page: CardPage) -> dict[str, str]:
    """Return the header with the link to the next page; none for the last page."""
    if page.last is None:
        return {}
    cursor = base64.urlsafe_b64encode(b"%d.%d" % page.last).rstrip(b"=").decode()
    return _next(request, services, "cursor", cursor)


def paged(
    request: Request[Any, Any, Any], services: Services, items: list[_Item], total: int, page: Page
) -> Response[Ok[list[_Item]]]:
    """Return a page of a list of `total` items, with the link to the next page unless it is the last."""
    answer = Ok(items, Pagination(total, page.limit, page.offset))
    return tagged(request, answer, next_by_offset(request, services, page, len(items), total))


def next_by_offset(
    request: Request[Any, Any, Any], services: Services, page: Page, count: int, total: int
) -> dict[str, str]:
    """Return the header with the link to the next page of a list, behind `count` items; none for the last page."""
    end = page.offset + count
    return _next(request, services, "offset", str(end)) if count and end < total else {}


def _next(request: Request[Any, Any, Any], services: Services, name: str, value: str) -> dict[str, str]:
    query = parse_qsl(request.scope["query_string"].decode("ascii"), keep_blank_values=True)
    pairs = [pair for pair in query if pair[0] not in ("cursor", "offset")]
    target = f"{base_url(request, services)}{request.url.path}?{urlencode([*pairs, (name, value)])}"
    return {"Link": f'<{target}>; rel="next"'}
