"""Serve Recall's tools to models."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from memories.management.arguments import positive_int


class Command(BaseCommand):
    """Serve the Model Context Protocol in front of a running Recall."""

    help = (
        "Serve the tools remember, recall, why_not, confirm and forget of a running Recall to a model: over standard "
        "input and output, or with --http at http://HOST:PORT/NAMESPACE/mcp, where every request brings its own key."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--url", default=settings.RECALL_URL, help="where Recall is (RECALL_URL)")
        parser.add_argument("--namespace", default=settings.RECALL_NAMESPACE, help="which one (RECALL_NAMESPACE)")
        parser.add_argument(
            "--key", default=settings.RECALL_KEY, help="a key to it; prefer RECALL_KEY: others may see options"
        )
        parser.add_argument("--http", action="store_true", help="serve over HTTP")
        parser.add_argument("--host", default="127.0.0.1", help="where to listen (127.0.0.1)")
        parser.add_argument("--port", type=positive_int, default=8080, help="where to listen (8080)")

    def handle(self, *args: Any, url: str, namespace: str, key: str, http: bool, **options: Any) -> None:
        from memories.mcp import transports  # slow to import, which --help need not wait for

        if not url.startswith(("http://", "https://")):
            raise CommandError(f"RECALL_URL or --url must be an address like http://127.0.0.1:8000, not {url!r}.")
        if http:
            transports.serve_http(url, options["host"], options["port"])
            return
        for name, option, value in (("RECALL_NAMESPACE", "--namespace", namespace), ("RECALL_KEY", "--key", key)):
            if not value:
                raise CommandError(f"{name} or {option} must be given; --http takes both from each request.")
        transports.serve_stdio(url, namespace, key)
