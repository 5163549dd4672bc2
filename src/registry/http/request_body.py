"""Reads request bodies within their limits and decodes them strictly (`registry.parsing.strict_json`)."""

import math
import time
from collections.abc import AsyncGenerator
from typing import Any, TypeVar

from litestar import Request
from litestar.connection import ASGIConnection
from litestar.enums import RequestEncodingType
from litestar.handlers.base import BaseRouteHandler
from litestar.params import BodyKwarg

from registry.domain.validation import find_errors
from registry.errors import (
    ROOT,
    ClientGoneError,
    FieldError,
    payload_too_large,
    unsupported_media_type,
    validation_error,
)
from registry.http.admission import admit_again
from registry.http.request_state import request_state
from registry.parsing.strict_json import decode, rules_of

_T = TypeVar("_T")

_CREDENTIAL_SECONDS = 0.5
"""After a body that took longer, the credential is checked again. A revocation must hold within a second."""

UPLOADS = "uploads"
"""The option of a handler that takes packages as multipart bodies besides JSON."""


def is_upload(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> bool:
    """Return whether a request sends a package to a handler that takes them as multipart bodies besides JSON."""
    kind = connection.headers.get("content-type", "").partition(";")[0].strip().lower()
    return bool(handler.opt.get(UPLOADS)) and kind == "multipart/form-data"


class StrictRequest(Request[Any, Any, Any]):
    """The application's request class: `Litestar(request_class=StrictRequest)`.

    A handler that takes `data` gets an instance of its annotation, decoded by `decode`. A body needs the content type
    `application/json`. No body counts as `{}` if all fields are optional.
    """

    __slots__ = ()

    async def json(self) -> Any:
        """Return the body, decoded as the type of the handler's `data`.

        Raises:
            RegistryError: PAYLOAD_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE, VALIDATION_ERROR.
        """
        kind = self._json_kind()
        return await super().json() if kind is None else decode(await self.body(), kind)

    async def decoded(self, kind: type[_T]) -> _T:
        """Return the JSON body as an instance of `kind`, for a handler that takes other bodies too.

        Raises:
            RegistryError: PAYLOAD_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE, VALIDATION_ERROR.
        """
        value: _T = decode(self._checked(await super().body(), kind), kind)
        return value

    async def body(self) -> bytes:
        """Return the body. For a JSON handler it is never empty, because Litestar would omit `data`."""
        body, kind = await super().body(), self._json_kind()
        return body if kind is None else self._checked(body, kind)

    def _checked(self, body: bytes, kind: Any) -> bytes:
        if body:
            self._require_json()
            return body
        if next(find_errors({}, rules_of({}, kind)), None):
            raise validation_error(FieldError(ROOT, "is required: a JSON object"))
        return b"{}"

    def _json_kind(self) -> Any:
        field = self.route_handler.parsed_data_field
        if field is None:
            return None
        note = field.kwarg_definition
        is_json = not isinstance(note, BodyKwarg) or note.media_type == RequestEncodingType.JSON
        return field.annotation if is_json else None

    def _require_json(self) -> None:
        content_type, options = self.content_type
        if content_type.lower() != "application/json" or options.get("charset", "utf-8").lower() != "utf-8":
            raise unsupported_media_type()

    async def stream(self) -> AsyncGenerator[bytes, None]:
        """Yield the chunks of the body and an empty one at the end, within the maximum size of the handler.

        That is the limit of the application, or the setting that the handler names as its `body_limit`. A package that
        comes to a handler for JSON and packages (`is_upload`) has the limit of packages. A compressed body is yielded
        as it is, to a handler that names its compression as `body_encoding`.

        Raises:
            RegistryError: PAYLOAD_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE for a compressed body, UNAUTHORIZED if the
                credential was revoked while the body came.
            ClientGoneError: The caller closed the connection.
        """
        encoding = self.headers.get("content-encoding", "identity").lower()
        if encoding not in ("identity", self.route_handler.opt.get("body_encoding")):
            raise unsupported_media_type("Compressed bodies are not read")
        is_package = is_upload(self, self.route_handler)
        named = "publish_body_bytes" if is_package else self.route_handler.opt.get("body_limit")
        limit = getattr(self.app.state.limits, named) if named else self.route_handler.resolve_request_max_body_size()
        limit = limit or math.inf
        if (self.content_length or 0) > limit:
            raise payload_too_large(int(limit))
        started = time.monotonic()
        async for chunk in self._chunks(limit):
            yield chunk
        if time.monotonic() - started > _CREDENTIAL_SECONDS:
            await self._admit_again()
        self.is_connected = False
        yield b""

    async def _admit_again(self) -> None:
        """Check the credential again after a slow body: it may have been revoked meanwhile."""
        options = self.route_handler.opt
        if request_state(self.scope).principal is not None:
            await admit_again(self.app.state.services, self.scope, options["role"], basic=options.get("basic", False))

    async def _chunks(self, limit: float) -> AsyncGenerator[bytes, None]:
        received, more = 0, True
        while more:
            event = await self.receive()
            if event["type"] != "http.request":
                raise ClientGoneError
            received += len(event["body"])
            if received > limit:
                raise payload_too_large(int(limit))
            yield event["body"]
            more = event.get("more_body", False)
