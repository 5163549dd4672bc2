"""The limits of the service."""

from typing import Annotated

import msgspec
from msgspec import Meta

from registry.config.types import Positive, Seconds


class LimitsSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Maximum sizes in bytes, times in seconds, and rates."""

    json_body_bytes: Annotated[Positive, Meta(description="maximum size of a JSON body")] = 1 << 20
    batch_body_bytes: Annotated[Positive, Meta(description="maximum size of a batch of skills")] = 16 << 20
    header_bytes: Annotated[Positive, Meta(description="maximum size of a request head")] = 16 << 10
    header_count: Annotated[Positive, Meta(description="maximum number of request headers")] = 100
    url_bytes: Annotated[Positive, Meta(description="maximum length of a request URL")] = 8 << 10
    header_seconds: Annotated[Seconds, Meta(description="timeout for receiving a request head")] = 10.0
    body_seconds: Annotated[Seconds, Meta(description="timeout for receiving a request body")] = 60.0
    connections: Annotated[
        Positive, Meta(description="open connections of each process; at the limit, idle ones make room for new ones")
    ] = 2000
    keep_alive_seconds: Annotated[
        Seconds, Meta(description="timeout of an idle connection: above that of a proxy, often 60 s")
    ] = 75.0
    drain_seconds: Annotated[
        float,
        Meta(ge=0, le=86_400, description="timeout for requests in flight after the stop signal"),
    ] = 30.0
    embedding_connect_seconds: Annotated[
        Seconds, Meta(description="timeout for connecting to the hosted embedding provider")
    ] = 2.0
    embedding_total_seconds: Annotated[
        Seconds, Meta(description="timeout of one call to the hosted embedding provider")
    ] = 5.0
    embedding_breaker_failures: Annotated[
        Positive, Meta(description="failures in a row that open the circuit breaker of the hosted provider")
    ] = 5
    embedding_breaker_seconds: Annotated[Seconds, Meta(description="time that the circuit breaker stays open")] = 30.0
    private_scopes: Annotated[
        int,
        Meta(ge=0, le=10_000, description="private scopes; each takes about 17 MB of memory and 20 threads"),
    ] = 50
    searches_waiting: Annotated[
        Positive,
        Meta(description="searches that may wait for a processor, for each process; others get 503"),
    ] = 500
    search_fallback_seconds: Annotated[
        Seconds, Meta(description="time a search waits for the query vector before it uses keywords only")
    ] = 1.5
    token_body_bytes: Annotated[Positive, Meta(description="maximum size of the body of a token request")] = 4 << 10
    token_failures: Annotated[
        Positive, Meta(description="failed token requests per address in 5 minutes (registry profile)")
    ] = 10
    reads_per_minute: Annotated[Positive, Meta(description="reads per caller and minute (registry profile)")] = 3000
    writes_per_minute: Annotated[Positive, Meta(description="writes per caller and minute (registry profile)")] = 300
    publishes_per_minute: Annotated[
        Positive, Meta(description="publishes per caller and minute (registry profile)")
    ] = 30
    git_seconds: Annotated[Seconds, Meta(description="timeout of one git operation")] = 60.0
    git_bytes: Annotated[Positive, Meta(description="maximum size fetched, and written, of one repository")] = 100 << 20
    git_memory_bytes: Annotated[
        int, Meta(ge=128 << 20, le=1 << 40, description="maximum memory of one git process (address space)")
    ] = 1 << 30
    download_seconds: Annotated[Seconds, Meta(description="timeout of one download over HTTP")] = 30.0
    download_bytes: Annotated[Positive, Meta(description="maximum size of a download over HTTP")] = 25 << 20
    install_seconds: Annotated[
        Seconds, Meta(description="time limit of an installation that a request waits for; jobs have none")
    ] = 120.0
    downloads: Annotated[
        Positive, Meta(description="packages and large files that one caller may download at a time")
    ] = 20
    response_seconds: Annotated[
        Seconds, Meta(description="time in which a caller must read 64 KiB of a response, or what is left of it")
    ] = 30.0
    upload_bytes: Annotated[Positive, Meta(description="maximum size of a published package")] = 25 << 20
    publish_tries: Annotated[
        int, Meta(ge=1, le=100, description="attempts to store a package, with back-off, before it is rejected")
    ] = 8
    scan_seconds: Annotated[Seconds, Meta(description="timeout of the scan of one package, skill folder or record")] = (
        10.0
    )
    scan_memory_bytes: Annotated[
        int, Meta(ge=64 << 20, le=1 << 40, description="maximum memory of one scanning process")
    ] = 512 << 20
    s3_connect_seconds: Annotated[Seconds, Meta(description="timeout for connecting to the S3 service")] = 2.0
    s3_read_seconds: Annotated[Seconds, Meta(description="timeout for each read from the S3 service")] = 10.0
    index_bytes: Annotated[
        int, Meta(ge=1, le=1 << 40, description="maximum size of the clone of the registry index")
    ] = 5 << 30
    mirror_bytes: Annotated[
        int, Meta(ge=1, le=1 << 50, description="maximum size of all that is kept of mirrored registries")
    ] = 20 << 30
    bin_days: Annotated[
        int, Meta(ge=0, le=3650, description="days that uninstalled skills are kept, to be restored; 0 keeps none")
    ] = 30
    source_wait_seconds: Annotated[
        Seconds, Meta(description="time a refresh waits for slow sources before it responds without them")
    ] = 10.0
    source_refresh_seconds: Annotated[
        Seconds, Meta(description="age at which the list of a source is fetched again")
    ] = 3600.0

    @property
    def publish_body_bytes(self) -> int:
        """The maximum size of a publish request body: a package and its multipart framing."""
        return self.upload_bytes + (64 << 10)

    @property
    def largest_body_bytes(self) -> int:
        """The size that no body of any route may exceed."""
        return max(self.publish_body_bytes, self.batch_body_bytes, self.json_body_bytes)
