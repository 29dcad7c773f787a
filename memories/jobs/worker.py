"""The worker: takes jobs out of the queue until it is told to stop."""

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

from memories.jobs.queue import DEAD, QUEUE, REVIVE

logger = logging.getLogger(__name__)

AT_ONCE = 2  # jobs
HEARTBEAT = 5.0  # seconds
LOOK = 10.0  # seconds between two looks for jobs whose worker died
PAUSES = (1, 2, 5, 10, 30)  # seconds before the database is tried again
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def work(beside: int | None = None) -> None:
    """Work until a signal says stop, or until the process that this one works beside is gone."""
    with connected():
        asyncio.run(until_stopped(beside))


@contextmanager
def connected() -> Iterator[None]:
    """Let procrastinate have connections of its own, which a worker needs; no more than it can use."""
    with app.replace_connector(PsycopgConnector(kwargs=connector_params(), min_size=1, max_size=AT_ONCE + 2)):
        yield


async def until_stopped(beside: int | None) -> None:
    """Live again after every outage of the database."""
    stopped, loop, failures = asyncio.Event(), asyncio.get_running_loop(), 0

    def stop() -> None:
        if stopped.is_set():  # asked twice: a piece of work may take its time, and a person may have none
            os._exit(1)
        stopped.set()

    for number in STOPS:
        loop.add_signal_handler(number, stop)
    while not stopped.is_set() and not gone(beside):
        began = loop.time()
        try:
            await one_life(stopped, beside)
        except (ConnectorException, PoolTimeout) as error:
            logger.warning("The queue cannot be reached: %s", error.__cause__ or error)
        failures = 0 if loop.time() - began > PAUSES[-1] else failures
        await ended(stopped, PAUSES[min(failures, len(PAUSES) - 1)])
        failures += 1


async def one_life(stopped: asyncio.Event, beside: int | None) -> None:
    """Take jobs and look after those of the dead, until told to stop or the database goes away."""
    async with app.open_async():
        tasks = [
            asyncio.create_task(
                app.run_worker_async(
                    queues=[QUEUE],
                    concurrency=AT_ONCE,
                    install_signal_handlers=False,
                    update_heartbeat_interval=HEARTBEAT,
                    stalled_worker_timeout=DEAD,
                    shutdown_graceful_timeout=0.0,  # a job stops after its piece, and goes on elsewhere
                    delete_jobs="always",  # what a person may know of a job is in its own record
                )
            ),
            asyncio.create_task(revive_the_dead()),
            asyncio.create_task(until_gone(beside)),
            asyncio.create_task(stopped.wait()),
        ]
        done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
        for task in done:
            task.result()


async def revive_the_dead() -> None:
    """Put the jobs of workers that died back into the queue, from the first moment on."""
    while True:
        found = await app.connector.execute_query_all_async(REVIVE, queue=QUEUE, dead=DEAD)
        if found:
            logger.warning("%d jobs of a worker that died go on", len(found))
        await asyncio.sleep(LOOK)


async def until_gone(beside: int | None) -> None:
    """Wait for the end of the process that this one works beside; forever without one."""
    while not gone(beside):
        await asyncio.sleep(1)


def gone(beside: int | None) -> bool:
    """Tell whether the process that this one works beside is gone: an orphan has another parent."""
    return beside is not None and os.getppid() != beside


async def ended(stopped: asyncio.Event, seconds: float) -> None:
    """Rest, unless told to stop."""
    try:
        await asyncio.wait_for(stopped.wait(), seconds)
    except TimeoutError:
        return
