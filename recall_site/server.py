"""The web server: gunicorn's gthread workers, configured and started from this process."""

import json
import signal
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter

from memories.providers.embedder import warm_up
from recall_site.postgres import Postgres
from recall_site.postgres_monitor import PostgresMonitor
from recall_site.worker_supervisor import WorkerSupervisor

READY_TIMEOUT = 30  # seconds until a site that is not ready is reported


class Server(BaseApplication):
    """Serves the site until Ctrl-C or SIGTERM; calls `on_ready` once it answers, and monitors its Postgres."""

    def __init__(self, on_ready: Callable[[], None], postgres: Postgres | None) -> None:
        self.on_ready = on_ready
        self.monitor = PostgresMonitor(postgres) if postgres else None
        super().__init__()

    def load_config(self) -> None:
        """Gunicorn's settings, from the site's."""
        options = {
            "bind": host_port(settings.HOST, settings.PORT),
            "worker_class": "gthread",
            "workers": settings.WORKERS,
            "threads": settings.THREADS,
            "preload_app": True,  # Django is loaded already; workers inherit it
            "loglevel": settings.LOG_LEVEL.lower(),
            "control_socket_disable": True,  # its path in the home folder would be shared by all sites
            "forwarded_allow_ips": "",  # Django decides whether a proxy is trusted, by TRUST_PROXY
            "graceful_timeout": 10,  # seconds
            "keepalive": 75,  # seconds: an agent's next request should find its connection open
            "when_ready": stop_on_hangup,
            "post_worker_init": self.init_worker,
            "worker_exit": self.exit_worker,
        }
        for name, value in options.items():
            self.cfg.set(name, value)

    def load(self) -> Any:
        """The WSGI application."""
        return get_wsgi_application()

    def run(self) -> None:
        """Serve, with the worker for jobs beside the web workers."""
        SiteArbiter(self).run()

    def init_worker(self, worker: Any) -> None:
        """Start a web worker's threads; the first worker polls for readiness, as the parent must not have threads."""
        # A terminal signals the parent and its workers alike; a worker must only react to the parent.
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        if worker.age == 1:
            threading.Thread(target=call_when_ready, args=[self.on_ready], daemon=True).start()
        threading.Thread(target=warm_up, args=[settings.RECALL_EMBEDDER], daemon=True).start()
        if self.monitor:
            self.monitor.start()

    def exit_worker(self, arbiter: Any, worker: Any) -> None:
        """Stop a web worker's monitor; gunicorn also calls this in the parent, for a worker that has died."""
        if self.monitor and self.monitor.is_alive():
            self.monitor.stop()


class SiteArbiter(Arbiter):
    """Gunicorn's parent process, which also supervises the worker for jobs."""

    def __init__(self, app: Server) -> None:
        self.supervisor = WorkerSupervisor() if settings.RECALL_WORKER else None
        super().__init__(app)

    def manage_workers(self) -> None:
        """Start missing processes; gunicorn calls this every second."""
        super().manage_workers()
        if self.supervisor:
            self.supervisor.ensure_running()

    def stop(self, graceful: bool = True) -> None:
        """Stop all processes in parallel."""
        if self.supervisor:
            self.supervisor.terminate()
        super().stop(graceful)
        if self.supervisor:
            self.supervisor.wait()


def stop_on_hangup(arbiter: Any) -> None:
    """Stop when the terminal closes; gunicorn's default is to reload."""
    signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))


def call_when_ready(on_ready: Callable[[], None]) -> None:
    """Poll /health/ready and call `on_ready`, or print why the site is not ready."""
    reason, deadline = "", time.monotonic() + READY_TIMEOUT
    while time.monotonic() < deadline:
        if (reason := readiness_error()) == "":
            return on_ready()
        time.sleep(0.05)
    return print(f"The site is running but not ready: {reason}", flush=True)


def readiness_error() -> str:
    """Why /health/ready fails; empty if it succeeds."""
    host = settings.ALLOWED_HOSTS[0].lstrip(".").replace("*", "localhost")
    try:
        with urlopen(Request(f"{site_url()}/health/ready", headers={"Host": host}), timeout=5):
            return ""
    except HTTPError as error:
        with error:
            return str(json.load(error).get("detail", error))
    except (URLError, OSError, ValueError) as error:
        return str(error)


def host_port(host: str, port: int) -> str:
    """Host and port as in a URL; an IPv6 address gets brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def site_url() -> str:
    """The site's URL for a browser on this machine."""
    loopback = {"0.0.0.0": "127.0.0.1", "::": "::1"}
    return f"http://{host_port(loopback.get(settings.HOST, settings.HOST), settings.PORT)}"
