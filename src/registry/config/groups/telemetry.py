"""Traces of requests."""

from typing import Annotated

import msgspec
from msgspec import Meta

from registry.config.types import HeaderList, ServerUrl


class TelemetrySettings(msgspec.Struct, frozen=True, kw_only=True):
    """Who gets traces of requests, and of how many."""

    endpoint: Annotated[
        ServerUrl | None,
        Meta(
            description="OTLP/HTTP receiver that gets traces of requests at its path /v1/traces; needs the extra otel"
        ),
    ] = None
    headers: Annotated[
        HeaderList | None,
        Meta(description="headers for it, such as its key: NAME=VALUE,NAME=VALUE with percent-encoded values"),
    ] = None
    sample_ratio: Annotated[
        float, Meta(ge=0, le=1, description="share of requests that are traced; a traceparent decides for its own")
    ] = 1.0
    service_name: Annotated[
        str,
        Meta(
            pattern=r"\A[A-Za-z0-9._/-]{1,64}\Z",
            title="1 to 64 characters of A-Z, a-z, 0-9 and ._/-",
            description="name of this service in traces",
        ),
    ] = "skill-registry"
