"""The base error of embedders, extractors, judges, rerankers and recognisers; the API answers with 503."""


class ProviderError(RuntimeError):
    """A provider that is unavailable; the message says what to do."""
