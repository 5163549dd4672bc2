"""Search ids: signed texts that name the query and the skills that were shown, so that no search is stored."""

import base64
import binascii
import hashlib
import hmac
import time
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from registry.catalog.examples import MAX_CHARACTERS
from registry.errors import FieldError, validation_error

LIFETIME_SECONDS = 24 * 3600
"""How long a search can be learned from."""

_MAC_BYTES = 12


class Shown(NamedTuple):
    """What a search showed: when, the keys of the skills, and the start of the query."""

    seconds: int
    keys: Sequence[int]
    query: str


class SearchIds:
    """Makes and reads search ids with a secret of the catalog, which all of its processes share."""

    def __init__(self, secret: str) -> None:
        self._secret = secret.encode()

    def make(self, query: str, keys: Sequence[int]) -> str:
        """Return the id of a search that has just shown these skills."""
        content = msgspec.msgpack.encode(Shown(int(time.time()), keys, query[:MAX_CHARACTERS]))
        return base64.urlsafe_b64encode(self._mac(content) + content).rstrip(b"=").decode()

    def read(self, search_id: str) -> Shown:
        """Return what a search showed. Raises VALIDATION_ERROR for an id that is not valid, or not any more."""
        try:
            packed = base64.b64decode(search_id + "=" * (-len(search_id) % 4), b"-_", validate=True)
        except (binascii.Error, ValueError):
            packed = b""
        mac, content = packed[:_MAC_BYTES], packed[_MAC_BYTES:]
        if not hmac.compare_digest(mac, self._mac(content)):
            raise _invalid("is not the search_id of a search here: copy it from the answer of the search")
        search = msgspec.msgpack.decode(content, type=Shown)
        if not -LIFETIME_SECONDS < time.time() - search.seconds < LIFETIME_SECONDS:
            raise _invalid("is of a search more than a day ago: search again")
        return search

    def caller(self, name: str) -> str:
        """Return the keyed hash under which the choices of a caller are stored."""
        return hashlib.blake2b(name.encode(), key=self._secret, digest_size=8).hexdigest()

    def _mac(self, content: bytes) -> bytes:
        return hashlib.blake2b(content, key=self._secret, digest_size=_MAC_BYTES, person=b"search-id").digest()


def _invalid(message: str) -> Exception:
    return validation_error(FieldError("search_id", message))
