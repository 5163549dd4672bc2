"""The fields of the resources, each with the kind of its value."""

import re
from typing import Any

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|\+00:00)")
_VERSION = re.compile(r"(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)", re.ASCII)

KINDS = {
    "text": "a text that is not empty",
    "any text": "a text",
    "text or null": "a text or null",
    "boolean": "a boolean",
    "integer": "an integer",
    "integer or null": "an integer or null",
    "number": "a number",
    "array": "an array",
    "texts": "an array of texts",
    "object": "an object",
    "timestamp": "an ISO 8601 UTC timestamp",
    "timestamp or null": "an ISO 8601 UTC timestamp or null",
    "version": "a version MAJOR.MINOR.PATCH",
    "anything": "anything",
}
"""The kinds of values, in words."""


def is_kind(value: Any, kind: str) -> bool:
    """Return whether a value is of a kind."""
    base, _, null = kind.partition(" or ")
    if null and not value and value in (None, ""):
        return True
    if base in ("boolean", "integer", "number"):
        return _is_number(value, base)
    if base == "texts":
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    if base in ("array", "object"):
        return isinstance(value, list if base == "array" else dict)
    return base == "anything" or (isinstance(value, str) and _is_text(value, base))


def _is_number(value: Any, kind: str) -> bool:
    if isinstance(value, bool) or kind == "boolean":
        return isinstance(value, bool) and kind == "boolean"
    return isinstance(value, int) or (isinstance(value, float) and kind == "number")


def _is_text(value: str, kind: str) -> bool:
    if kind == "timestamp":
        return _TIME.fullmatch(value) is not None
    if kind == "version":
        return _VERSION.fullmatch(value) is not None
    return bool(value) or kind != "text"


LIST_ITEM = {
    "id": "text",
    "name": "text",
    "description": "any text",
    "version": "version",
    "author": "text or null",
    "enabled": "boolean",
    "created_at": "timestamp",
    "updated_at": "timestamp",
}
"""A skill in a list of the code v1 API."""

CARD = LIST_ITEM | {
    "tags": "texts",
    "capabilities": "texts",
    "installed": "boolean",
    "source": "text or null",
    "license": "text or null",
    "findings": "anything",
}
"""A skill in the lists and search results below `/api` and `/api/v1`."""

DETAIL = LIST_ITEM | {
    "tags": "texts",
    "capabilities": "texts",
    "skill_file": "text or null",
    "source_url": "text or null",
    "source_type": "text or null",
    "source_branch": "text or null",
    "editable": "boolean",
    "execution_environment": "anything",
    "dependencies": "array",
    "timeout": "integer or null",
}
"""A skill in full, as the specification lists its fields."""

CREATED = {name: LIST_ITEM[name] for name in LIST_ITEM if name != "author"}
"""What creating a skill returns at least."""

VERSION = {"skill_id": "text", "version": "version", "description": "text or null", "created_at": "timestamp"}
"""A version in a list."""

FULL_VERSION = VERSION | {"changes": "texts"}
"""A version by itself."""

TOKEN = {"token": "text", "expires_at": "timestamp", "role": "text"}
"""The token response."""

VERIFIED = {
    "valid": "boolean",
    "user": "text or null",
    "role": "text",
    "scope": "text or null",
    "expires_at": "timestamp or null",
}
"""The verify response."""

OWN_TOKEN = {
    "id": "text",
    "name": "text",
    "operations": "texts",
    "skills": "texts",
    "role": "text",
    "created_at": "timestamp",
    "expires_at": "timestamp",
    "last_used_at": "timestamp or null",
}
"""A token that a user has made, without its text."""

PUBLISHER = {
    "id": "text",
    "name": "text",
    "scope": "text",
    "skills": "texts",
    "issuer": "text",
    "claims": "object",
    "created_at": "timestamp",
    "last_used_at": "timestamp or null",
}
"""A workflow that publishes without a secret."""

PRIVATE_SCOPE = {"scope": "text", "path": "text", "members": "integer", "created_at": "timestamp"}
"""A private scope in a list."""

MEMBER = {"user": "text", "role": "text", "since": "timestamp"}
"""A member of a private scope."""

RESULTS = {
    "query": "text",
    "mode": "text",
    "limit": "integer",
    "count": "integer",
    "took_ms": "number",
    "warnings": "array",
    "skills": "array",
}
"""The answer of a search."""

HIT = {"score": "number", "relevance": "text", "matched_by": "texts", "skill": "object"}
"""One result of a search."""

SOURCE = {
    "name": "text",
    "type": "text",
    "url": "text or null",
    "path": "text or null",
    "branch": "text or null",
    "priority": "integer",
    "skills": "integer",
    "last_refreshed": "timestamp or null",
    "error": "text or null",
}
"""A source of skills."""

MANIFEST_ENTRY = {
    "id": "text",
    "version": "text or null",
    "groups": "texts",
    "editable": "boolean",
    "source_type": "text or null",
}
"""A skill of the manifest."""

JOB = {
    "job_id": "text",
    "status": "text",
    "skill_id": "text",
    "version": "version",
    "checksum": "text",
    "size": "integer",
    "uploaded_at": "timestamp",
    "uploaded_by": "text or null",
    "completed_at": "timestamp or null",
    "errors": "array",
    "warnings": "array",
    "published_to_blob_storage": "boolean",
    "published_to_index": "boolean",
    "index_synced": "boolean",
    "download_url": "text or null",
}
"""A publish job."""

INDEX_LINE = {
    "name": "text",
    "vers": "version",
    "deps": "array",
    "cksum": "text",
    "features": "object",
    "yanked": "boolean",
    "download_url": "text or null",
    "published_at": "timestamp",
    "size": "integer",
    "metadata": "object",
}
"""One line of the raw index of a published skill."""
