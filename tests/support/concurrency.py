"""One function in many threads, each with its own connection."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from django.db import connection

WRITERS = 16


def run_concurrently(work: Callable[[int], str]) -> list[str]:
    """Run the same function in many threads, each with its own connection."""

    def run(number: int) -> str:
        try:
            return work(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(WRITERS) as pool:
        return list(pool.map(run, range(WRITERS), timeout=60))
