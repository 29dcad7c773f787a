"""LRU cache: least recently used entries are evicted first, and an entry is valid for one version only."""

from memories.db.lru_cache import LRUCache


def test_the_least_recently_used_entry_is_evicted_first() -> None:
    cache = LRUCache[str, str](2)
    cache.put("a", "first")
    cache.put("b", "second")
    assert cache.get("a") == "first"
    cache.put("c", "third")
    assert [cache.get(key) for key in "abc"] == ["first", None, "third"]


def test_an_entry_of_another_version_is_a_miss() -> None:
    cache = LRUCache[str, str](2)
    cache.put("a", "old", version=1)
    assert cache.get("a", version=2) is None
    cache.put("a", "new", version=2)
    assert (cache.get("a", version=1), cache.get("a", version=2)) == (None, "new")


def test_entries_fit_the_total_size_and_one_that_is_too_large_is_not_stored() -> None:
    cache = LRUCache[str, str](10, size=len)
    cache.put("a", "x" * 6)
    cache.put("a", "x" * 4)
    cache.put("b", "x" * 6)
    assert cache.total_size == 10
    cache.put("c", "x" * 11)
    assert cache.get("c") is None
    assert cache.total_size <= cache.max_size


def test_a_value_is_computed_on_a_miss_only() -> None:
    cache, computed = LRUCache[str, str](2), list[str]()

    def compute() -> str:
        computed.append("once")
        return "value"

    assert [cache.get_or_compute("a", compute) for _ in range(3)] == ["value"] * 3
    assert computed == ["once"]
    cache.clear()
    assert (len(cache), cache.total_size, cache.get("a")) == (0, 0, None)
