"""Reads request bodies within their limits and decodes them strictly (`registry.parsing.strict_json`)."""

import math
from collections.abc import AsyncGenerator
from typing import Any

from litestar import Request
from litestar.enums import RequestEncodingType
from litestar.params import BodyKwarg

from registry.domain.validation import ROOT, find_errors
from registry.errors import ClientGoneError, FieldError, payload_too_large, unsupported_media_type, validation_error
from registry.parsing.strict_json import decode, rules_of


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

    async def body(self) -> bytes:
        """Return the body. For a JSON handler it is never empty, because Litestar would omit `data`."""
        body, kind = await super().body(), self._json_kind()
        if kind is None:
            return body
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

        That is the limit of the application, or the setting that the handler names as its `body_limit`.

        Raises:
            RegistryError: PAYLOAD_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE for a compressed body.
            ClientGoneError: The caller closed the connection.
        """
        if self.headers.get("content-encoding", "identity").lower() != "identity":
            raise unsupported_media_type("Compressed bodies are not read")
        named = self.route_handler.opt.get("body_limit")
        limit = getattr(self.app.state.limits, named) if named else self.route_handler.resolve_request_max_body_size()
        limit = limit or math.inf
        if (self.content_length or 0) > limit:
            raise payload_too_large(int(limit))
        async for chunk in self._chunks(limit):
            yield chunk
        self.is_connected = False
        yield b""

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
