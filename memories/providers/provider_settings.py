"""Checks that the settings name providers that exist, when the app is ready."""

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from memories.providers import embedder, language_model, reranker
from memories.text import spacy_names


def check_provider_settings() -> None:
    """Raise ImproperlyConfigured for the first setting that names an unknown provider."""
    checks = {
        "RECALL_EMBEDDER": (embedder.is_known_embedder, f"one of {embedder.ALLOWED}"),
        "RECALL_JUDGE": (language_model.is_known_model, language_model.ALLOWED),
        "RECALL_EXTRACTOR": (language_model.is_known_model, language_model.ALLOWED),
        "RECALL_ENTITIES": (spacy_names.is_known_recogniser, spacy_names.ALLOWED),
        "RECALL_RERANKER": (reranker.is_known_reranker, reranker.ALLOWED),
    }
    for name, (is_known, allowed) in checks.items():
        if not is_known(value := getattr(settings, name)):
            raise ImproperlyConfigured(f"{name} must be {allowed}; got {value!r}.")
