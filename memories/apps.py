from django.apps import AppConfig


class MemoriesConfig(AppConfig):
    """Agents' memories: writing, retrieval, tuning, and the pages and API around them."""

    name = "memories"

    def ready(self) -> None:
        from memories.providers.provider_settings import check_provider_settings  # needs the models

        check_provider_settings()
