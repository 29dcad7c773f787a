"""The worker that does long work beside the web server: a process of its own, started again if it dies."""

import logging
import os
import signal
import subprocess
import sys
import time

from django.conf import settings

logger = logging.getLogger(__name__)

DELAY = 2.0  # seconds; the first answer comes first
PAUSES = (1.0, 2.0, 5.0, 15.0, 60.0)  # seconds before it is started again
LONG_LIFE = 60.0  # seconds after which a death counts as the first
LAST_WORK = 10.0  # seconds that the piece of work under way may take when the site stops
POLITE = 5  # how much its niceness is raised, so that answers go before long work


class Companion:
    """The worker as the web server's process sees it."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.due = time.monotonic() + DELAY
        self.began = 0.0
        self.deaths = 0

    def tend(self) -> None:
        """Start the worker when it is due, and again when it has died."""
        now = time.monotonic()
        if self.process is not None and self.process.poll() is not None:
            self.process = None
            self.deaths = 0 if now - self.began > LONG_LIFE else self.deaths
            self.due = now + PAUSES[min(self.deaths, len(PAUSES) - 1)]
            self.deaths += 1
            logger.warning("The worker is gone; it is started again")
        if self.process is None and now >= self.due:
            command = [sys.executable, str(settings.ROOT / "manage.py"), "worker", "--beside", str(os.getpid())]
            self.process, self.began = subprocess.Popen(command, preexec_fn=settle), now

    def stop(self) -> None:
        """Ask it to stop; a second time does nothing."""
        self.due = float("inf")
        if self.process is not None:
            self.process.terminate()

    def wait(self) -> None:
        """Wait until it is gone; what holds out too long is ended, and its job goes on at the next start."""
        if self.process is None:
            return
        try:
            self.process.wait(LAST_WORK)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def settle() -> None:
    """Leave the terminal's signals to the web server, which passes its stop on."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    os.nice(POLITE)
