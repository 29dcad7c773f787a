"""The web server: gunicorn with threads, inside this process."""

import json
import signal
import sys
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

from memories.providers.embedder import warm
from recall_site.fair_worker import FairWorker, forget
from recall_site.garbage import leave_what_is_loaded
from recall_site.postgres import Postgres
from recall_site.postgres_watch import Watch
from recall_site.worker import Companion

PATIENCE = 30  # seconds until a site that does not get ready is reported
# Seconds that a thread computes before another has its turn: an answer waits for the database five times, and each time
# would wait as long again for others.
TURN = 0.0005


class Server(BaseApplication):
    """Serves the site until Ctrl-C or SIGTERM, calls `when_up` once it really answers, and watches its Postgres."""

    def __init__(self, when_up: Callable[[], None], postgres: Postgres | None) -> None:
        self.when_up = when_up
        self.watch = Watch(postgres) if postgres else None
        super().__init__()

    def load_config(self) -> None:
        """Gunicorn's settings, from ours."""
        chosen = {
            "bind": address(settings.HOST, settings.PORT),
            "worker_class": FairWorker,
            "workers": settings.WORKERS,
            "threads": settings.THREADS,
            "preload_app": True,  # Django is loaded already; workers get it by fork
            "loglevel": settings.LOG_LEVEL.lower(),
            "control_socket_disable": True,  # it would lie in the home folder, the same for every site
            "forwarded_allow_ips": "",  # whether a proxy is believed is Django's to decide, by TRUST_PROXY
            "graceful_timeout": 10,  # seconds
            "keepalive": 75,  # seconds: an agent that thinks for a while finds its connection again
            "when_ready": stop_on_hangup,
            "post_worker_init": self.begin,
            "worker_exit": self.end,
            "child_exit": forget,
        }
        for name, value in chosen.items():
            self.cfg.set(name, value)

    def load(self) -> Any:
        """The site."""
        site = get_wsgi_application()
        leave_what_is_loaded()
        return site

    def run(self) -> None:
        """Serve, with a worker for long work beside the web server's own."""
        SiteArbiter(self).run()

    def begin(self, worker: Any) -> None:
        """Start a worker; the first watches for the first answer, as a thread in the parent would trouble its forks."""
        # A terminal signals parent and workers alike; a worker that hears both it and the parent's word can hang.
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        if worker.age == 1:
            threading.Thread(target=tell_when_up, args=[self.when_up], daemon=True).start()
        sys.setswitchinterval(TURN)
        threading.Thread(target=warm, args=[settings.RECALL_EMBEDDER], daemon=True).start()
        if self.watch:
            self.watch.start()

    def end(self, arbiter: Any, worker: Any) -> None:
        """End a worker; gunicorn also calls this in the parent, for a worker it finds gone."""
        if self.watch and self.watch.is_alive():
            self.watch.end()


class SiteArbiter(Arbiter):
    """Gunicorn's parent process, which tends the worker for long work as well."""

    def __init__(self, app: Server) -> None:
        self.companion = Companion() if settings.RECALL_WORKER else None
        super().__init__(app)

    def manage_workers(self) -> None:
        """Have every process run that should; gunicorn calls this every second."""
        super().manage_workers()
        if self.companion:
            self.companion.tend()

    def stop(self, graceful: bool = True) -> None:
        """Stop all of them, side by side."""
        if self.companion:
            self.companion.stop()
        super().stop(graceful)
        if self.companion:
            self.companion.wait()


def stop_on_hangup(arbiter: Any) -> None:
    """Stop when the terminal closes; gunicorn would reload and live on unseen."""
    signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))


def tell_when_up(tell: Callable[[], None]) -> None:
    """Ask the site until it is ready, then tell; say why if it does not get there."""
    reason, deadline = "", time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if (reason := reason_not_ready()) == "":
            return tell()
        time.sleep(0.05)
    return print(f"The site is up but not ready: {reason}", flush=True)


def reason_not_ready() -> str:
    """What /health/ready complains of, or nothing."""
    host = settings.ALLOWED_HOSTS[0].lstrip(".").replace("*", "localhost")
    try:
        with urlopen(Request(f"{url()}/health/ready", headers={"Host": host}), timeout=5):
            return ""
    except HTTPError as error:
        with error:
            return str(json.load(error).get("detail", error))
    except (URLError, OSError, ValueError) as error:
        return str(error)


def address(host: str, port: int) -> str:
    """Host and port as an address writes them."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def url() -> str:
    """Where a browser on this machine finds the site."""
    everywhere = {"0.0.0.0": "127.0.0.1", "::": "::1"}
    return f"http://{address(everywhere.get(settings.HOST, settings.HOST), settings.PORT)}"
