"""Cursors: where the next page of a list begins, as an opaque text in the query and in the `Link` header (RFC 8288)."""

import base64
import binascii
import re
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlencode

from litestar import Request
from litestar.params import QueryParameter

from registry.catalog.listing import CardPage, Position
from registry.errors import FieldError, validation_error
from registry.http.links import base_url
from registry.http.query_params import Page
from registry.services.container import Services

Cursor = Annotated[
    str,
    QueryParameter(max_length=64, description="Where the page begins: from the `Link` header of the page before"),
]
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
    query = parse_qsl(request.scope["query_string"].decode("ascii"), keep_blank_values=True)
    kept = [(name, value) for name, value in query if name not in ("cursor", "offset")]
    target = f"{base_url(request, services)}{request.url.path}?{urlencode([*kept, ('cursor', cursor)])}"
    return {"Link": f'<{target}>; rel="next"'}
