"""What the OpenAPI document says of the git view: bodies of its own types, and errors as a line of text."""

from dataclasses import dataclass

from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.spec import (
    OpenAPIFormat,
    OpenAPIMediaType,
    OpenAPIResponse,
    OpenAPIType,
    Operation,
    RequestBody,
    Schema,
)

from registry.http.routes.parameters import ERRORS as ENVELOPES
from registry.protocols.git.responses import ADVERTISEMENT, READ, RESULT, WRITE_ADVERTISEMENT

_BYTES = OpenAPIMediaType(schema=Schema(type=OpenAPIType.STRING, format=OpenAPIFormat.BINARY))

ERRORS = ENVELOPES | {
    status: ResponseSpec(str, generate_examples=False, media_type="text/plain", description=meaning)
    for status, meaning in {
        400: "The query names no service of git",
        401: "There is no valid credential (registry profile)",
        429: "Too many requests (registry profile)",
        500: "An unexpected fault; the log knows more under the request id",
        503: "It cannot be done just now",
        507: "The disk is full",
    }.items()
}
"""The errors that git does not get as packets with status 200."""


def _packets(*media_types: str) -> OpenAPIResponse:
    return OpenAPIResponse(
        description="Packets of git; a refusal is one that begins with ERR",
        content=dict.fromkeys(media_types, _BYTES),
    )


@dataclass
class Advertised(Operation):
    """The operation that names the commit of a repository."""

    def __post_init__(self) -> None:
        self.responses = {**(self.responses or {}), "200": _packets(ADVERTISEMENT, WRITE_ADVERTISEMENT)}


@dataclass
class Requested(Operation):
    """An operation with a request of git as its body."""

    def __post_init__(self) -> None:
        self.responses = {**(self.responses or {}), "200": _packets(RESULT)}
        self.request_body = RequestBody(content={f"application/x-{READ}-request": _BYTES}, required=True)
