"""Watches the embedded Postgres from within a site's worker: what crashes is started again."""

import logging
import threading

import psutil

from recall_site.data_folder import StartError
from recall_site.postgres import Postgres

logger = logging.getLogger(__name__)

PAUSE = 1  # seconds between two looks
PAUSE_AFTER_FAILURE = 10  # seconds
LAST_WORK = 5  # seconds that a start under way may take when the site stops


class Watch(threading.Thread):
    """Tends the server until it is ended; every worker has one, and they take turns by the server's own lock."""

    def __init__(self, server: Postgres) -> None:
        super().__init__(name="postgres watch", daemon=True)
        self.server = server
        self._ended = threading.Event()

    def run(self) -> None:
        """Look, mend, and rest."""
        pause = PAUSE
        while not self._ended.wait(pause):
            try:
                self.server.tend()
                pause = PAUSE
            except (StartError, OSError, psutil.Error) as error:
                logger.error("The embedded Postgres cannot be tended: %s", error)
                pause = PAUSE_AFTER_FAILURE

    def end(self) -> None:
        """Look no more; a server must not be started behind the back of one who stops it."""
        self._ended.set()
        self.join(LAST_WORK)
