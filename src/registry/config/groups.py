"""The groups of settings. To add a setting, add a field: everything else is derived from it.

A field's type says what is accepted, its `Meta.description` what it means, its `Meta.extra["flag"]` the flag
where that is not the key with dashes.
"""

from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, field

from registry.config.types import (
    Address,
    DatabaseUrl,
    Dimension,
    Host,
    HttpUrl,
    Network,
    Origin,
    Positive,
    Rate,
    ReachableHost,
    Seconds,
    Secret,
    Url,
)


class ServerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How the service listens."""

    host: Annotated[Address, Meta(description="address to listen on")] = "localhost"
    port: Annotated[int, Meta(ge=0, le=65_535, description="port to listen on; 0 takes a free one")] = 8080
    workers: Annotated[int, Meta(ge=1, le=64, description="worker processes")] = 1
    allowed_hosts: Annotated[
        tuple[Host, ...],
        Meta(description="host names answered besides the loopback ones", extra={"flag": "--allowed-host"}),
    ] = ()
    allowed_origins: Annotated[
        tuple[Origin, ...],
        Meta(
            description="web origins that may call; * alone opens reads, never with credentials, to all",
            extra={"flag": "--allowed-origin"},
        ),
    ] = ()
    trusted_proxies: Annotated[
        tuple[Network, ...],
        Meta(description="proxies whose X-Forwarded-For is believed", extra={"flag": "--trusted-proxy"}),
    ] = ()
    read_only: Annotated[bool, Meta(description="refuse every request that changes something")] = False


class RegistryMode(msgspec.Struct, frozen=True, kw_only=True):
    """Whether registry mode is on: the registry, publish and manifest routes and `/registry`.

    The specification lists `registry.enabled`, default true, among the parameters of registry mode, and makes
    `--enable-registry` the option that turns the mode on. Both hold when the flag is the key's flag, a bare
    command starts with the mode off, and the container image and the chart set the key to true. Switched on
    from wherever, the mode implies the profile `registry`.
    """

    enabled: Annotated[
        bool,
        Meta(
            description="registry mode: publish, registry and manifest routes",
            extra={"flag": "--enable-registry"},
        ),
    ] = False


class AuthSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Who gets in, in the registry profile."""

    secret: Annotated[
        Secret | None, Meta(description="secret that signs tokens, 32 bytes or more; default: made once, in data_dir")
    ] = None
    previous_secret: Annotated[
        Secret | None, Meta(description="the secret before: its tokens stay valid while it is set")
    ] = None
    issuer: Annotated[
        Literal["open", "closed"] | None,
        Meta(description="open: anybody gets any token; default: open on loopback only, and only to callers there"),
    ] = None
    token_lifetime: Annotated[int, Meta(ge=60, le=31_536_000, description="seconds a token is valid")] = 86_400
    anonymous_read: Annotated[bool, Meta(description="let callers without a credential read and search")] = False


class TransparencySettings(msgspec.Struct, frozen=True, kw_only=True):
    """The log of what was published."""

    name: Annotated[
        str,
        Meta(
            pattern=r"\A[A-Za-z0-9][A-Za-z0-9._/-]{0,99}\Z",
            title="a name such as registry.example.org",
            description="name the log's checkpoints are signed under (registry profile)",
        ),
    ] = "skill-registry"
    key: Annotated[
        Secret | None,
        Meta(description="private key that signs the log, 64 hexadecimal digits; default: made once, in data_dir"),
    ] = None


WebhookEvent = Literal["structure_error", "security_issue", "quality_warning", "all_checks_passed"]


class WebhookSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where the end of a check is told."""

    url: Annotated[HttpUrl | None, Meta(description="where failed checks are sent")] = None
    events: Annotated[tuple[WebhookEvent, ...], Meta(description="which of their events")] = (
        "structure_error",
        "security_issue",
    )
    secret: Annotated[Secret | None, Meta(description="secret that signs them")] = None


class PassedWebhookSettings(WebhookSettings, frozen=True, kw_only=True):
    """Where passed checks are told."""

    url: Annotated[HttpUrl | None, Meta(description="where passed checks are sent")] = None
    events: Annotated[tuple[WebhookEvent, ...], Meta(description="which of their events")] = ("all_checks_passed",)
    secret: Annotated[Secret | None, Meta(description="secret that signs them")] = None


class WebhooksSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Who is told how the check of a published or installed package ended."""

    validation_failed: WebhookSettings = WebhookSettings()
    validation_passed: PassedWebhookSettings = PassedWebhookSettings()


class ClientSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How the commands speak to a server."""

    api_key: Annotated[Secret | None, Meta(description="API key, or token, that commands send to a server")] = None


class S3Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The object store of published packages."""

    bucket: Annotated[str | None, Meta(description="bucket of published packages")] = None
    region: Annotated[str, Meta(description="region of the bucket")] = "us-east-1"
    endpoint: Annotated[HttpUrl | None, Meta(description="endpoint of an S3-compatible service")] = None
    blob_base_url: Annotated[HttpUrl | None, Meta(description="base URL of published packages")] = field(
        default=None, name="blobBaseUrl"
    )


class RegistryIndexSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The git repository that lists published versions."""

    url: Annotated[Url | None, Meta(description="git repository of the registry index")] = None
    branch: Annotated[str, Meta(description="branch of the registry index")] = "main"
    path: Annotated[Path | None, Meta(description="folder of its clone; default: in data_dir")] = None


class BlobsSettings(msgspec.Struct, frozen=True, kw_only=True):
    """A folder as the store of published packages."""

    dir: Annotated[Path | None, Meta(description="folder of published packages, instead of a bucket")] = None


class DatabaseSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where the truth is kept."""

    url: Annotated[
        DatabaseUrl | None,
        Meta(description="sqlite:///FILE or postgresql://USER@HOST/DATABASE; default: skill-registry.db in data_dir"),
    ] = None


class SearchSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How search works."""

    vectors: Annotated[
        Literal["memory", "database"],
        Meta(description="where vectors are searched: in each process, or in a PostgreSQL database by pgvector"),
    ] = "memory"


class ProjectSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The project that uses the skills."""

    file: Annotated[Path, Meta(description="the project's manifest; skills.lock and .cursor/ are beside it")] = Path(
        "skill-project.toml"
    )


class EmbeddingSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How texts become vectors."""

    provider: Annotated[
        Literal["auto", "hosted", "local", "none"],
        Meta(description="auto: hosted with an API key, else the local model if installed, else words only"),
    ] = "auto"
    model: Annotated[str | None, Meta(description="name or path of the model; default: the provider's")] = None
    base_url: Annotated[HttpUrl | None, Meta(description="base URL of the hosted provider (also OPENAI_BASE_URL)")] = (
        None
    )
    api_key: Annotated[Secret | None, Meta(description="key of the hosted provider (also OPENAI_API_KEY)")] = None
    dimension: Annotated[Dimension | None, Meta(description="dimension to ask for; default: the model's")] = None
    threads: Annotated[int, Meta(ge=1, le=256, description="threads of the local model in each process")] = 1
    rate: Annotated[
        Rate | None, Meta(description="most skills embedded in a second by each process; default: no limit")
    ] = None
    models_dir: Annotated[
        Path | None, Meta(description="folder of local models made ready to run; default: models in data_dir")
    ] = None


class OutboundSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What may be fetched from."""

    allowed_hosts: Annotated[
        tuple[ReachableHost, ...],
        Meta(
            description="hosts, host:port and networks fetched from though they are not public",
            extra={"flag": "--outbound-allowed-host"},
        ),
    ] = ()


class InstallSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What may be installed."""

    allowed_roots: Annotated[
        tuple[Path, ...],
        Meta(
            description="folders installed from, with all below them; in the local profile on loopback any folder is",
            extra={"flag": "--install-allowed-root"},
        ),
    ] = ()


class LogSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What is logged, and how."""

    format: Annotated[Literal["text", "json"], Meta(description="json writes one object a line")] = "text"
    level: Annotated[Literal["debug", "info", "warning", "error"], Meta(description="least severity logged")] = "info"


class LimitsSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How much, and how long, is borne. Sizes in bytes, times in seconds."""

    json_body_bytes: Annotated[Positive, Meta(description="largest JSON body")] = 1 << 20
    header_bytes: Annotated[Positive, Meta(description="largest request head")] = 16 << 10
    header_count: Annotated[Positive, Meta(description="most request headers")] = 100
    url_bytes: Annotated[Positive, Meta(description="longest request URL")] = 8 << 10
    header_seconds: Annotated[Seconds, Meta(description="time for a request head to arrive")] = 10.0
    body_seconds: Annotated[Seconds, Meta(description="time for a request body to arrive")] = 60.0
    keep_alive_seconds: Annotated[Seconds, Meta(description="time an idle connection is kept")] = 5.0
    drain_seconds: Annotated[
        float,
        Meta(ge=0, le=86_400, description="longest time requests in flight are waited for after the stop signal"),
    ] = 30.0
    embedding_connect_seconds: Annotated[Seconds, Meta(description="time to connect to the hosted provider")] = 2.0
    embedding_total_seconds: Annotated[Seconds, Meta(description="time for one call to the hosted provider")] = 5.0
    embedding_breaker_failures: Annotated[Positive, Meta(description="failures in a row that pause calling")] = 5
    embedding_breaker_seconds: Annotated[Seconds, Meta(description="length of that pause")] = 30.0
    search_fallback_seconds: Annotated[
        Seconds, Meta(description="time a search waits for the query's vector before it goes on with words")
    ] = 1.5
    token_body_bytes: Annotated[Positive, Meta(description="largest body of a request for a token")] = 4 << 10
    token_failures: Annotated[
        Positive, Meta(description="failures to get a token an address has in 5 minutes (registry profile)")
    ] = 10
    reads_per_minute: Annotated[Positive, Meta(description="reads a caller has in a minute (registry profile)")] = 3000
    writes_per_minute: Annotated[Positive, Meta(description="changes a caller has in a minute (registry profile)")] = (
        300
    )
    publishes_per_minute: Annotated[
        Positive, Meta(description="publishes a caller has in a minute (registry profile)")
    ] = 30
    git_seconds: Annotated[Seconds, Meta(description="time for one operation of git")] = 60.0
    git_bytes: Annotated[Positive, Meta(description="most that is fetched, and written, of one repository")] = 100 << 20
    download_seconds: Annotated[Seconds, Meta(description="time for one document or file fetched over HTTP")] = 30.0
    download_bytes: Annotated[Positive, Meta(description="largest file fetched over HTTP")] = 25 << 20
    upload_bytes: Annotated[Positive, Meta(description="largest package that is published")] = 25 << 20
    publish_tries: Annotated[
        int, Meta(ge=1, le=100, description="tries to store a package, ever further apart, before it is rejected")
    ] = 8
    scan_seconds: Annotated[Seconds, Meta(description="time to scan one package, skill folder or record")] = 10.0
    scan_memory_bytes: Annotated[int, Meta(ge=64 << 20, description="memory of one process that scans")] = 512 << 20
    s3_connect_seconds: Annotated[Seconds, Meta(description="time to connect to the bucket's service")] = 2.0
    s3_read_seconds: Annotated[Seconds, Meta(description="time the bucket's service may be silent")] = 10.0
    index_bytes: Annotated[Positive, Meta(description="largest clone of the registry index")] = 5 << 30
    source_wait_seconds: Annotated[
        Seconds, Meta(description="time a refresh waits for slow sources before it answers without them")
    ] = 10.0
    source_refresh_seconds: Annotated[Seconds, Meta(description="age at which what a source lists is read again")] = (
        3600.0
    )

    @property
    def publish_body_bytes(self) -> int:
        """The largest body of a publish: a package in its multipart frame."""
        return self.upload_bytes + (64 << 10)
