"""A thread-safe LRU cache.

`cachetools.LRUCache` needs a lock and a rule for entries that are too large around it, and its writes take three times
as long (docs/decisions/2026-11-25-edit-distances.md).
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


class LruCache(Generic[_Key, _Value]):
    """Keeps the most recently used values. Safe to use from several threads.

    Args:
        capacity: The total size of the entries that are kept.
        size: Returns the size of an entry. By default, each counts as one.
    """

    def __init__(self, capacity: int, size: Callable[[_Key, _Value], int] = lambda key, value: 1) -> None:
        self._values: OrderedDict[_Key, _Value] = OrderedDict()
        self._capacity = capacity
        self._size = size
        self._used = 0
        self._lock = threading.Lock()

    def get(self, key: _Key) -> _Value | None:
        """Return the cached value, or None."""
        with self._lock:
            value = self._values.get(key)
            if value is not None:
                self._values.move_to_end(key)
            return value

    def put(self, key: _Key, value: _Value) -> None:
        """Add or replace a value, and evict the least recently used ones until the rest fits.

        An entry that is larger than the capacity is not kept.
        """
        with self._lock:
            if (before := self._values.pop(key, None)) is not None:
                self._used -= self._size(key, before)
            self._values[key] = value
            self._used += self._size(key, value)
            while self._used > self._capacity:
                self._used -= self._size(*self._values.popitem(last=False))
