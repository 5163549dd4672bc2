"""Errors of the ClawHub protocol: a line of plain text, because its clients show the body as it is."""

from typing import Any, Literal

import msgspec
from litestar import MediaType, Request, Response
from litestar.exceptions import NotFoundException
from litestar.openapi.datastructures import ResponseSpec

from registry.domain.addresses import redact_text
from registry.errors import ClientGoneError, RegistryError
from registry.http.envelope import CLIENT_GONE, error_of
from registry.http.routes.parameters import ERRORS as ENVELOPED_ERRORS

PREFIX = "/clawhub"
"""The path that everything but the discovery document is below."""

_NO_SKILL = "Skill not found"
"""What clients look for before they publish a skill for the first time."""

_NOT_SERVED = "This registry does not serve this part of ClawHub"


class Match(msgspec.Struct, kw_only=True, rename="camel"):
    """One of several skills of the same slug."""

    owner_handle: str
    slug: str
    ref: str
    url: str


class Ambiguity(msgspec.Struct, kw_only=True):
    """Several skills have the slug. Clients list the matches."""

    code: Literal["AMBIGUOUS_SKILL_SLUG"] = "AMBIGUOUS_SKILL_SLUG"
    message: str
    matches: list[Match]


class AmbiguousSlug(Exception):
    """Several skills have the slug that a request names without an owner."""

    def __init__(self, slug: str, matches: list[Match]) -> None:
        super().__init__(slug)
        self.answer = Ambiguity(message=f"Several skills are called '{slug}': name the owner", matches=matches)


ERRORS = {
    status: ResponseSpec(str, media_type=MediaType.TEXT, generate_examples=False, description=spec.description)
    for status, spec in ENVELOPED_ERRORS.items()
} | {414: ENVELOPED_ERRORS[414]}
"""The errors of every route of the protocol, for the OpenAPI document. A URL is refused before its route is known."""

SLUG_ERRORS = ERRORS | {
    409: ResponseSpec(Ambiguity, generate_examples=False, description="Several skills have this slug")
}
"""The errors of routes that find a skill by its slug."""

CHANGE_ERRORS = ERRORS | {
    409: ResponseSpec(
        str,
        media_type="*/*",
        generate_examples=False,
        description="Several skills have this slug (JSON), or its state does not allow the change (text)",
    )
}
"""The errors of routes that delete and restore."""


def answer_plainly(request: Request[Any, Any, Any], exception: Exception) -> Response[Any]:
    """Turn any exception below `PREFIX` into a response of the protocol."""
    if isinstance(exception, ClientGoneError):
        return Response(b"", status_code=CLIENT_GONE, media_type=MediaType.TEXT)
    if isinstance(exception, AmbiguousSlug):
        return Response(exception.answer, status_code=409, media_type=MediaType.JSON)
    error = error_of(request, exception)
    text = _NOT_SERVED if isinstance(exception, NotFoundException) else plain_text(error)
    return Response(text, status_code=error.status, headers=error.headers, media_type=MediaType.TEXT)


def plain_text(error: RegistryError) -> str:
    """Return an error in one line, with every broken rule."""
    if error.code == "SKILL_NOT_FOUND" and not error.message.startswith("Version"):
        return _NO_SKILL
    text = "; ".join(f"{detail.field}: {detail.message}" for detail in error.details) or error.message
    return " ".join(redact_text(text).split())
