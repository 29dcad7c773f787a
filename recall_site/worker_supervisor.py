"""Runs the worker for jobs beside the web server, as a process of its own that is restarted if it dies."""

import logging
import os
import signal
import subprocess
import sys
import time

from django.conf import settings

logger = logging.getLogger(__name__)

START_DELAY = 2.0  # seconds; the first requests go first
RESTART_DELAYS = (1.0, 2.0, 5.0, 15.0, 60.0)  # seconds
STABLE_AFTER = 60.0  # seconds of life after which the delays start over
STOP_TIMEOUT = 10.0  # seconds that the current job may take when the site stops
NICENESS = 5  # added, so that requests go before jobs


class WorkerSupervisor:
    """The worker process, as seen by the web server's parent process."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.start_at = time.monotonic() + START_DELAY
        self.started_at = 0.0
        self.deaths = 0

    def ensure_running(self) -> None:
        """Start the worker when it is due, and restart it after it has died."""
        now = time.monotonic()
        if self.process is not None and self.process.poll() is not None:
            self.process = None
            self.deaths = 0 if now - self.started_at > STABLE_AFTER else self.deaths
            self.start_at = now + RESTART_DELAYS[min(self.deaths, len(RESTART_DELAYS) - 1)]
            self.deaths += 1
            logger.warning("the worker has died; restarting it")
        if self.process is None and now >= self.start_at:
            command = [sys.executable, str(settings.ROOT / "manage.py"), "worker", "--beside", str(os.getpid())]
            self.process, self.started_at = subprocess.Popen(command, preexec_fn=detach_from_terminal), now

    def terminate(self) -> None:
        """Ask the worker to stop, and do not restart it."""
        self.start_at = float("inf")
        if self.process is not None:
            self.process.terminate()

    def wait(self) -> None:
        """Wait for the worker to end, and kill it after a timeout; its job resumes at the next start."""
        if self.process is None:
            return
        try:
            self.process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def detach_from_terminal() -> None:
    """Ignore the terminal's signals, which the web server forwards as SIGTERM; lower the priority."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    os.nice(NICENESS)
