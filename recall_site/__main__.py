"""`python -m recall_site` brings the whole site up."""

import signal
import sys


def main() -> None:
    """Take signals first, as loading Django takes a while and Ctrl-C must not end in a traceback."""
    interrupted = signal.signal(signal.SIGINT, signal.SIG_DFL)
    from recall_site import bring_up

    signal.signal(signal.SIGINT, interrupted)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    bring_up.main()


if __name__ == "__main__":
    main()
