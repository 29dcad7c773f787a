from django.apps import AppConfig


class ScoringConfig(AppConfig):
    """Every formula, and the pages that show them."""

    name = "scoring"
