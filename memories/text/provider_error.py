"""The base error of every embedder, extractor, judge, reranker and recogniser; the API answers it with 503."""


class ProviderError(RuntimeError):
    """A provider that is unavailable; the message says what to do."""
