"""Others at the same time: one function in many threads, and a table that somebody holds."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psycopg
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


@contextmanager
def lock_table(table: str, mode: str = "ACCESS EXCLUSIVE") -> Iterator[None]:
    """Let somebody else hold a table, for three seconds at most."""
    given = connection.get_connection_params()
    given = {name: given[name] for name in ("dbname", "user", "password", "host", "port") if given.get(name)}
    with psycopg.connect(**given) as other:
        other.execute("SET idle_in_transaction_session_timeout = 3000")
        other.execute(f"LOCK TABLE {table} IN {mode} MODE")
        try:
            yield
        finally:
            if not other.closed and other.info.transaction_status != psycopg.pq.TransactionStatus.UNKNOWN:
                other.rollback()
