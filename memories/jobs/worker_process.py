"""The worker process: runs jobs from the queue until it is stopped."""

import asyncio
import logging
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from procrastinate.contrib.django import app
from procrastinate.contrib.django.utils import connector_params
from procrastinate.exceptions import ConnectorException
from procrastinate.psycopg_connector import PsycopgConnector
from psycopg_pool import PoolTimeout

from memories.jobs.job_queue import HEARTBEAT_TIMEOUT, QUEUE, REVIVE_SQL

logger = logging.getLogger(__name__)

CONCURRENCY = 2  # jobs
HEARTBEAT_SECONDS = 5.0
REVIVE_SECONDS = 10.0  # between searches for jobs whose worker died
BACKOFF_SECONDS = (1, 2, 5, 10, 30)  # before reconnecting
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_worker(parent_pid: int | None = None) -> None:
    """Work until a signal, or until the parent process exits."""
    with worker_connector():
        asyncio.run(run_until_stopped(parent_pid))


@contextmanager
def worker_connector() -> Iterator[None]:
    """Give procrastinate its own connections, as many as a worker needs."""
    with app.replace_connector(PsycopgConnector(kwargs=connector_params(), min_size=1, max_size=CONCURRENCY + 2)):
        yield


async def run_until_stopped(parent_pid: int | None) -> None:
    """Run until stopped, reconnecting after every outage of the database."""
    stopped, loop, failures = asyncio.Event(), asyncio.get_running_loop(), 0

    def stop() -> None:
        if stopped.is_set():  # second signal: a batch may take long
            os._exit(1)
        stopped.set()

    for signal_number in STOP_SIGNALS:
        loop.add_signal_handler(signal_number, stop)
    while not stopped.is_set() and not parent_exited(parent_pid):
        started_at = loop.time()
        try:
            await run_until_disconnected(stopped, parent_pid)
        except (ConnectorException, PoolTimeout) as error:
            logger.warning("Cannot reach the queue: %s", error.__cause__ or error)
        failures = 0 if loop.time() - started_at > BACKOFF_SECONDS[-1] else failures
        await sleep_unless_stopped(stopped, BACKOFF_SECONDS[min(failures, len(BACKOFF_SECONDS) - 1)])
        failures += 1


async def run_until_disconnected(stopped: asyncio.Event, parent_pid: int | None) -> None:
    """Run jobs and revive those of dead workers, until stopped or disconnected."""
    async with app.open_async():
        tasks = [
            asyncio.create_task(
                app.run_worker_async(
                    queues=[QUEUE],
                    concurrency=CONCURRENCY,
                    install_signal_handlers=False,
                    update_heartbeat_interval=HEARTBEAT_SECONDS,
                    stalled_worker_timeout=HEARTBEAT_TIMEOUT,
                    shutdown_graceful_timeout=0.0,  # a job stops after its batch and is resumed elsewhere
                    delete_jobs="always",  # the Job row is the lasting record
                )
            ),
            asyncio.create_task(revive_stalled_jobs()),
            asyncio.create_task(wait_for_parent_exit(parent_pid)),
            asyncio.create_task(stopped.wait()),
        ]
        done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
        for task in done:
            task.result()


async def revive_stalled_jobs() -> None:
    """Requeue the jobs of dead workers, at once and then periodically."""
    while True:
        revived = await app.connector.execute_query_all_async(REVIVE_SQL, queue=QUEUE, dead=HEARTBEAT_TIMEOUT)
        if revived:
            logger.warning("Requeued %d jobs of dead workers", len(revived))
        await asyncio.sleep(REVIVE_SECONDS)


async def wait_for_parent_exit(parent_pid: int | None) -> None:
    """Wait until the parent process exits; forever without one."""
    while not parent_exited(parent_pid):
        await asyncio.sleep(1)


def parent_exited(parent_pid: int | None) -> bool:
    """Whether the parent process has exited: an orphan gets another parent."""
    return parent_pid is not None and os.getppid() != parent_pid


async def sleep_unless_stopped(stopped: asyncio.Event, seconds: float) -> None:
    """Sleep, unless stopped meanwhile."""
    try:
        await asyncio.wait_for(stopped.wait(), seconds)
    except TimeoutError:
        return
