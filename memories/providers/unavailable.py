"""What every provider raises that cannot work here and now."""


class ProviderError(RuntimeError):
    """An embedder, extractor or judge that cannot work here and now; says what to do."""
