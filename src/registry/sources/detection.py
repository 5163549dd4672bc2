"""Finds out what kind of source is at a URL."""

from collections.abc import Callable
from urllib.parse import urlsplit

from registry.domain.repository_addresses import HOSTS, ArchiveAddress, parse_address
from registry.domain.source_entry import NewSource, SourceEntry, SourceKind
from registry.errors import FieldError, validation_error
from registry.outbound import OutboundError
from registry.sources.remote_registry import NotARegistry, RemoteRegistry


def detected(
    new: NewSource, open_registry: Callable[[str], RemoteRegistry], has_index: Callable[[str], bool]
) -> SourceEntry:
    """Return a source with its type: the given one, else that of what is at its URL.

    The registry is asked without the credential. `has_index` says whether a site has an index of skills. Raises
    VALIDATION_ERROR.
    """
    kind = new.type or _obvious(new)
    if kind is None:
        kind = _kind_at_url(new, open_registry, has_index)
    try:
        return new.as_type(kind)
    except ValueError as error:
        raise validation_error(FieldError("body", str(error))) from None


def _obvious(new: NewSource) -> SourceKind | None:
    """Return the type that the fields show, None if the service at the URL must be asked."""
    if new.url is None:
        return "local"
    if new.branch is not None:
        return "git"
    path = urlsplit(new.url).path.lower()
    if path.endswith((".json", "/marketplace")) or "/.well-known/" in path:
        return "http"
    try:
        address = parse_address(new.url)
    except ValueError as error:
        raise validation_error(FieldError("url", str(error))) from None
    if isinstance(address, ArchiveAddress):
        return "zip"
    return None if address.is_plain else "git"


def _kind_at_url(
    new: NewSource, open_registry: Callable[[str], RemoteRegistry], has_index: Callable[[str], bool]
) -> SourceKind:
    url = str(new.url)
    try:
        open_registry(url).description()
    except OutboundError as error:
        if new.api_key is not None:  # only a registry has one
            raise validation_error(FieldError("url", str(error))) from None
        # Without an answer, no index is expected. Hosts of repositories have none for each of them.
        may_have_index = isinstance(error, NotARegistry) and not _is_repository(url)
        return "http" if may_have_index and has_index(url) else "git"
    return "registry"


def _is_repository(url: str) -> bool:
    parts = urlsplit(url)
    return parts.path.rstrip("/").endswith(".git") or (parts.hostname or "").lower() in HOSTS.values()
