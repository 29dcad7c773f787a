"""Time of a first and a second start, from the command to the last line of output."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
TARGET = 5  # seconds, for the second start
LAST_LINE = "Press Ctrl-C to stop."


def free_port() -> int:
    """A free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def seconds_to_start(data: Path) -> float:
    """Start the site with this data folder, stop it, and return the seconds until it was up."""
    environment = {**os.environ, "RECALL_DATA": str(data), "PORT": str(free_port()), "DATABASE_URL": ""}
    command = [sys.executable, "-m", "recall_site"]
    began = time.perf_counter()
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as site:
        assert site.stdout is not None
        output = []
        while LAST_LINE not in (line := site.stdout.readline()):
            output.append(line)
            if not line:
                sys.exit(f"The site did not start: {''.join(output)}")
        took = time.perf_counter() - began
        site.send_signal(signal.SIGTERM)
        site.communicate()
    return took


def main() -> None:
    """Print both times, and the target for the second."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        print(f"first start   {seconds_to_start(data):5.1f} s")
        print(f"second start  {seconds_to_start(data):5.1f} s   target: under {TARGET} s")


if __name__ == "__main__":
    main()
