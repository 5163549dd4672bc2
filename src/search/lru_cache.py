"""A thread-safe LRU cache."""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


class LruCache(Generic[_Key, _Value]):
    """Keeps the `capacity` most recently used values. Safe to use from several threads."""

    def __init__(self, capacity: int) -> None:
        self._values: OrderedDict[_Key, _Value] = OrderedDict()
        self._capacity = capacity
        self._lock = threading.Lock()

    def get(self, key: _Key) -> _Value | None:
        """Return the cached value, or None."""
        with self._lock:
            value = self._values.get(key)
            if value is not None:
                self._values.move_to_end(key)
            return value

    def put(self, key: _Key, value: _Value) -> None:
        """Add a value, and evict the least recently used one if the cache is full."""
        with self._lock:
            self._values[key] = value
            if len(self._values) > self._capacity:
                self._values.popitem(last=False)
