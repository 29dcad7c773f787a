"""`python -m recall_site` starts the site; `make run` calls it."""

import signal
import sys


def main() -> None:
    """Start the site; while Django loads, Ctrl-C ends the process without a traceback."""
    default_handler = signal.signal(signal.SIGINT, signal.SIG_DFL)
    from recall_site import run

    signal.signal(signal.SIGINT, default_handler)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    run.run_site()


if __name__ == "__main__":
    main()
