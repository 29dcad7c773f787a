from django.apps import AppConfig


class MemoriesConfig(AppConfig):
    """The memories of agents: stored, found, judged and served."""

    name = "memories"
