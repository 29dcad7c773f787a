"""LRU cache: least recently used entries are evicted first, and an entry is valid for one version only."""

from memories.db.lru_cache import LRUCache


def test_the_least_recently_used_entry_is_evicted_first() -> None:
    cache = LRUCache[str, int, str](2)
    cache.put("a", 1, "first")
    cache.put("b", 1, "second")
    assert cache.get("a", 1) == "first"
    cache.put("c", 1, "third")
    assert [cache.get(key, 1) for key in "abc"] == ["first", None, "third"]


def test_an_entry_of_another_version_is_a_miss() -> None:
    cache = LRUCache[str, int, str](2)
    cache.put("a", 1, "old")
    assert cache.get("a", 2) is None
    cache.put("a", 2, "new")
    assert (cache.get("a", 1), cache.get("a", 2)) == (None, "new")


def test_entries_fit_the_total_size_and_one_that_is_too_large_is_not_stored() -> None:
    cache = LRUCache[str, int, str](10, size=len)
    cache.put("a", 1, "x" * 6)
    cache.put("a", 1, "x" * 4)
    cache.put("b", 1, "x" * 6)
    assert cache.total_size == 10
    cache.put("c", 1, "x" * 11)
    assert cache.get("c", 1) is None
    assert cache.total_size <= cache.max_size
