"""Settings that are valid alone but not together, or whose items are not."""

import ipaddress
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from registry.domain.addresses import AddressPolicy
from registry.domain.hosts import is_private_url

if TYPE_CHECKING:
    from registry.config.settings import Settings


def contradictions(settings: "Settings", origins: Mapping[str, str]) -> Iterator[str]:
    """Yield a message for each contradiction.

    Args:
        settings: All settings.
        origins: Where each setting that is not a default comes from: a flag, a variable or a file.
    """
    allowed = settings.server.allowed_origins
    if "*" in allowed and len(allowed) > 1:
        yield "server.allowed_origins: * allows all origins, so it must be the only item"
    yield from _addresses(settings)
    if settings.search.vectors == "database" and settings.database_path is not None:
        yield "search.vectors = 'database' needs a PostgreSQL database: set database.url"
    if settings.search.vectors == "milvus" and settings.search.milvus_uri is None:
        yield "search.vectors = 'milvus' needs the address of Milvus: set search.milvus_uri"
    if settings.database.answer_seconds <= settings.database.statement_seconds:
        yield "database.answer_seconds must be greater than database.statement_seconds"
    names = [source.name for source in settings.sources]
    if len(set(names)) < len(names):
        yield "sources: two sources have the same name; rename one"
    yield from _sign_in(settings)
    s3 = settings.s3
    if s3.blob_base_url and s3.bucket and s3.private_bucket and _name(s3.bucket) == _name(s3.private_bucket):
        yield "s3.privateBucket: everybody reads s3.bucket at s3.blobBaseUrl, so name another bucket"
    if settings.registry.enabled:
        yield from _registry_mode(settings, origins)


def _name(bucket: str) -> str:
    return bucket.partition("/")[0]


def _sign_in(settings: "Settings") -> Iterator[str]:
    oidc = settings.auth.oidc
    if oidc.issuer is None:
        return
    if not oidc.client_id:
        yield "auth.oidc.issuer needs the id of this service there: set auth.oidc.client_id"
    if not oidc.groups:
        yield "auth.oidc.issuer admits no user: set auth.oidc.groups, such as *=user"
    if not is_private_url(oidc.issuer):
        yield "auth.oidc.issuer must be an https:// URL, except on this machine"


def _registry_mode(settings: "Settings", origins: Mapping[str, str]) -> Iterator[str]:
    if settings.profile == "local" and "profile" in origins:
        yield "profile = 'local' contradicts registry.enabled: remove one of them"
    if settings.s3.bucket is None and settings.blobs.dir is None:
        yield "Registry is enabled but blob storage is not configured: set s3.bucket or blobs.dir"
    if settings.registry_index.url is None:
        yield "Registry is enabled but the registry index is not configured: set registryIndex.url"


def _addresses(settings: "Settings") -> Iterator[str]:
    key = "outbound.allowed_hosts"
    try:
        AddressPolicy(settings.outbound.allowed_hosts)
        key = "server.trusted_proxies"
        for network in settings.server.trusted_proxies:
            ipaddress.ip_network(network)
    except ValueError as error:
        yield f"{key}: {error}"
