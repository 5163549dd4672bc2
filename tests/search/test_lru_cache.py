"""The LRU cache: what it keeps, and how much."""

from search.lru_cache import LruCache


def test_the_least_recently_used_value_goes_first() -> None:
    cache = LruCache[str, int](2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert [cache.get(key) for key in "abc"] == [1, None, 3]


def test_the_capacity_is_in_the_size_of_the_entries() -> None:
    cache = LruCache[str, bytes](100, lambda key, value: len(key) + len(value))
    cache.put("a", bytes(49))
    cache.put("b", bytes(49))
    assert (cache.get("a"), cache.get("b")) == (bytes(49), bytes(49))
    cache.put("c", bytes(50))
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == (None, None, bytes(50))
    cache.put("c", bytes(1))
    cache.put("d", bytes(97))
    assert (cache.get("c"), cache.get("d")) == (bytes(1), bytes(97))
    cache.put("d", bytes(100))
    assert cache.get("d") is None
