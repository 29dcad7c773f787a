"""A worker of the web server that leaves new connections to whoever has fewer, and stays with those it has.

Agents keep their connections, so whoever takes one answers all that comes over it: left to chance, one of two workers
may have three of four, and a part of the machine stands idle.
"""

import time
from mmap import mmap
from select import POLLIN, poll
from typing import Any

from gunicorn.workers.gthread import ThreadWorker

MOST = 256  # workers
COURTESY = 0.002  # seconds, enough for another to take it
LINGER = 20  # milliseconds in which whoever was answered may ask again
_shared = mmap(-1, 4 * MOST)  # made before the workers are, and so the same in all of them
held = memoryview(_shared).cast("i")  # by each: 0 where there is no worker, else one more than its connections


class FairWorker(ThreadWorker):
    """Waits a moment before it takes a connection, if another has fewer."""

    def tell(self) -> None:
        """Let the others know how many it has; one that is about to end takes no more."""
        held[self.age % MOST] = 1 + self.nr_conns if self.alive else 0

    def notify(self) -> None:
        """Whenever the server hears that this worker lives, the others hear of it too."""
        super().notify()
        self.tell()

    def accept(self, listener: Any) -> None:
        """Take a connection, unless somebody else does meanwhile."""
        mine = 1 + self.nr_conns
        if mine > min(filter(None, held), default=mine):
            time.sleep(COURTESY)
        super().accept(listener)
        self.tell()

    def run(self) -> None:
        """Serve until the end; however it comes to that, whoever stays with a caller hears of it."""
        try:
            super().run()
        finally:
            self.alive = False

    def handle(self, conn: Any) -> Any:
        """Answer what comes over a connection, and what comes soon after it too, while a thread is left for others.

        Gunicorn hands each request from its loop to any thread and back, and each time waits for whoever computes; and
        a thread that goes on with the same caller finds what it had at hand, its connection to the database as well.
        """
        kept = super().handle(conn)
        while kept is True and self.alive and self.nr_conns < self.cfg.threads and asks_again(conn):
            kept = super().handle(conn)
        return kept


def asks_again(conn: Any) -> bool:
    """Whether something more comes over a connection within a moment, or has come already."""
    if conn.parser.unreader.buf.getvalue():
        return True
    waiting = poll()
    waiting.register(conn.sock, POLLIN)
    return bool(waiting.poll(LINGER))


def forget(arbiter: Any, worker: Any) -> None:
    """Let the others know that a worker has ended, however it did."""
    held[worker.age % MOST] = 0
