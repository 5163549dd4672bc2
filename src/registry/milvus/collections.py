"""The names of the collections of a catalog, and the removal of unused ones."""

import hashlib
import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import NamedTuple

from registry.milvus.connection import SLOW_SECONDS, MilvusConnection

_REST = re.compile("[0-9a-f]{16}_[0-9a-f]{8}")
"""What follows the prefix of the catalog in the name of a collection: the space, and a random number."""

Claim = Callable[[str], AbstractContextManager[bool]]
"""Claims a piece of work for a block, as `Database.claim` does."""


def alias_of(catalog_id: str, space: str) -> str:
    """Return the alias of the collection of one space of a catalog."""
    return f"{_prefix(catalog_id)}{_digest(space)}"


def new_collection_name(alias: str) -> str:
    """Return a name that no collection has."""
    return f"{alias}_{secrets.token_hex(4)}"


def _prefix(catalog_id: str) -> str:
    return f"skills_{_digest(catalog_id)}_"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class _Unused(NamedTuple):
    """An unused collection, and the alias to remove with it, if it has one."""

    name: str
    alias: str | None


class MilvusCollections:
    """The collections of one catalog. Those of other catalogs are never touched."""

    def __init__(self, milvus: MilvusConnection, catalog_id: str, claim: Claim) -> None:
        self._milvus = milvus
        self._catalog_id = catalog_id
        self._claim = claim

    def unused(self, spaces: Iterable[str]) -> list[str]:
        """Return the collections of other spaces than `spaces`, and what an interrupted rebuild has left.

        One that another process is writing is left out. Raises VectorsUnavailable.
        """
        return [collection.name for collection in self._unused(spaces)]

    def drop_unused(self, spaces: Iterable[str]) -> list[str]:
        """Remove what `unused` returns, and return it. Raises VectorsUnavailable."""
        dropped = []
        for collection in self._unused(spaces):
            if collection.alias is not None:
                self._milvus.call("drop_alias", collection.alias)
            self._milvus.call("drop_collection", collection.name, seconds=SLOW_SECONDS)
            dropped.append(collection.name)
        return dropped

    def _unused(self, spaces: Iterable[str]) -> Iterator[_Unused]:
        """Yield the unused collections, each while no other process can write it."""
        used = {alias_of(self._catalog_id, space) for space in spaces}
        for alias in sorted({name.rpartition("_")[0] for name in self._names()}):
            with self._claim(f"milvus {alias}") as is_mine:
                if not is_mine:
                    continue
                described = self._milvus.call("describe_alias", alias)
                current = described["collection_name"] if described else None
                for name in self._names():  # again, since another process may have replaced one before the claim
                    if name.rpartition("_")[0] == alias and not (name == current and alias in used):
                        yield _Unused(name, alias if name == current else None)

    def _names(self) -> list[str]:
        prefix = _prefix(self._catalog_id)
        names = [name for name in self._milvus.call("list_collections") if name.startswith(prefix)]
        return sorted(name for name in names if _REST.fullmatch(name, len(prefix)))
