"""A thread that restarts the embedded Postgres if it crashes."""

import logging
import threading

import psutil

from recall_site.data_folder import StartError
from recall_site.postgres import Postgres

logger = logging.getLogger(__name__)

INTERVAL = 1  # seconds between checks
INTERVAL_AFTER_ERROR = 10  # seconds
STOP_TIMEOUT = 5  # seconds to wait for a restart in progress when the site stops


class PostgresMonitor(threading.Thread):
    """Checks the server until stopped; every worker runs one, and the server's own lock serialises them."""

    def __init__(self, server: Postgres) -> None:
        super().__init__(name="postgres monitor", daemon=True)
        self.server = server
        self._stopping = threading.Event()

    def run(self) -> None:
        """Check, restart if needed, wait."""
        interval = INTERVAL
        while not self._stopping.wait(interval):
            try:
                self.server.check()
                interval = INTERVAL
            except (StartError, OSError, psutil.Error) as error:
                logger.error("cannot check the embedded Postgres: %s", error)
                interval = INTERVAL_AFTER_ERROR

    def stop(self) -> None:
        """Stop checking, so that no server is started while another process stops it."""
        self._stopping.set()
        self.join(STOP_TIMEOUT)
