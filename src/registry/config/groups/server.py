"""The service and its log."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, field

from registry.config.types import Address, Host, Network, Origin, ServerUrl


class ServerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The address, the workers and the HTTP access rules of the service."""

    host: Annotated[Address, Meta(description="address to listen on")] = "localhost"
    port: Annotated[int, Meta(ge=0, le=65_535, description="port to listen on; 0 chooses a free port")] = 8080
    public_url: Annotated[
        ServerUrl | None,
        Meta(description="URL at which others reach the service, also below a path of a host"),
    ] = None
    workers: Annotated[int, Meta(ge=1, le=64, description="number of worker processes")] = 1
    allowed_hosts: Annotated[
        tuple[Host, ...],
        Meta(description="host names that requests may use besides loopback names", extra={"flag": "--allowed-host"}),
    ] = ()
    allowed_origins: Annotated[
        tuple[Origin, ...],
        Meta(
            description="web origins that may call the API; a single * lets every origin read, without credentials",
            extra={"flag": "--allowed-origin"},
        ),
    ] = ()
    trusted_proxies: Annotated[
        tuple[Network, ...],
        Meta(description="proxies whose X-Forwarded-… headers are trusted", extra={"flag": "--trusted-proxy"}),
    ] = ()
    read_only: Annotated[bool, Meta(description="reject every request that changes data")] = False
    count_uses: Annotated[
        bool, Meta(description="count by skill and day how often skills are used, without callers")
    ] = True
    debug: Annotated[
        bool,
        Meta(description="for developers: fail requests that wait on the event loop", extra={"flag": None}),
    ] = False


class RegistryMode(msgspec.Struct, frozen=True, kw_only=True):
    """Registry mode: its switch, for the registry, publish and manifest routes and `/registry`, and its replicas.

    The specification lists `registry.enabled` with the default true among the parameters of registry mode. It also
    says that the option `--enable-registry` turns the mode on. To satisfy both, the flag belongs to this key, the
    command starts with the mode off, and the container image and the chart set the key to true. Registry mode always
    implies the profile `registry`.

    `registry.replicaCount` is a parameter of the deployment: a server does not start others. It is accepted here so
    that one configuration file serves both.
    """

    enabled: Annotated[
        bool,
        Meta(
            description="registry mode: serve the publish, registry and manifest routes",
            extra={"flag": "--enable-registry"},
        ),
    ] = False
    replica_count: Annotated[
        int,
        Meta(
            ge=1,
            le=1000,
            description="number of replicas in the deployment, for information only: the service starts no other",
        ),
    ] = field(default=1, name="replicaCount")


class LogSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The format and the level of the log."""

    format: Annotated[Literal["text", "json"], Meta(description="log format; json writes one object per line")] = "text"
    level: Annotated[
        Literal["debug", "info", "warning", "error"], Meta(description="minimum severity of log lines")
    ] = "info"
