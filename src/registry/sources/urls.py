"""URLs of sources with and without the credentials in them."""

from collections.abc import Callable
from urllib.parse import urlsplit

import msgspec

from registry.domain.origins import GitOrigin
from registry.domain.source_entry import SourceEntry

WithCredentials = Callable[[GitOrigin], GitOrigin]
"""Returns an origin with the credentials for it, if there are any."""


def without_credentials(url: str) -> str:
    """Return the URL without user and password, for storage and responses."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def with_user_of(original: str, url: str) -> str:
    """Return a URL with the user and password of another one, if both have the same host."""
    parts = urlsplit(url)
    with_user = urlsplit(original).netloc
    return parts._replace(netloc=with_user).geturl() if with_user.rpartition("@")[2] == parts.netloc else url


def as_user_of(source: SourceEntry) -> WithCredentials:
    """Return the function that adds the credentials of a source."""
    return lambda origin: msgspec.structs.replace(origin, url=with_user_of(str(source.url), origin.url))
