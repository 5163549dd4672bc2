"""Conditional requests (RFC 9110, section 13): `If-None-Match` on reads, `If-Match` on writes."""

import hashlib
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec
from litestar import Request, Response

from registry.catalog.conditions import ANY_ETAG

_T = TypeVar("_T")
_ENTITY_TAG = re.compile(r'(?:W/)?("[\x21\x23-\x7e]*")')


def tagged(
    request: Request[Any, Any, Any], answer: _T, headers: Mapping[str, str] = MappingProxyType({})
) -> Response[_T]:
    """Return the response with the entity tag of its content, or 304, as `not_modified`.

    For everything that is made of several reads. A revision that is read after the content may be that of a later
    change, and a caller with this tag would never get the change.
    """
    digest = hashlib.sha256(msgspec.json.encode(answer)).hexdigest()
    return not_modified(request, answer, f'"{digest[:32]}"', headers)


def not_modified(
    request: Request[Any, Any, Any], answer: _T, etag: str, headers: Mapping[str, str] = MappingProxyType({})
) -> Response[_T]:
    """Return the response with its entity tag and `headers`, or 304 without a body if the caller has that version.

    The tag must have been read with the content, or before it. A 304 says again how the response may be kept: what it
    says replaces what the caller knows.
    """
    tags = _tags(request.headers.getall("If-None-Match", []), weak=True)
    if tags is not None and (ANY_ETAG in tags or etag in tags):
        cache_headers = {name: value for name, value in headers.items() if name == "Cache-Control"}
        return Response(b"", status_code=304, headers={**cache_headers, "ETag": etag})  # type: ignore[arg-type]
    return Response(answer, headers={**headers, "ETag": etag})


def if_match(request: Request[Any, Any, Any]) -> frozenset[str] | None:
    """Return the entity tags that a write requires, None if it requires none.

    A weak or malformed tag matches nothing: comparison is strong here.
    """
    return _tags(request.headers.getall("If-Match", []), weak=False)


def _tags(values: list[str], *, weak: bool) -> frozenset[str] | None:
    if not values:
        return None
    parts = [part.strip() for part in ",".join(values).split(",")]
    if ANY_ETAG in parts:
        return frozenset({ANY_ETAG})
    matches = [_ENTITY_TAG.fullmatch(part) for part in parts if weak or not part.startswith("W/")]
    return frozenset(match[1] for match in matches if match)
