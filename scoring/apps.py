from django.apps import AppConfig


class ScoringConfig(AppConfig):
    """The scoring formulas."""

    name = "scoring"
