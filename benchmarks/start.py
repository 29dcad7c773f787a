"""How long a first and a second start take, from the command to the line that tells where to look."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
AIM = 5  # seconds, for the second
LAST_LINE = "Ctrl-C stops it."


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def seconds_to_start(data: Path) -> float:
    """Start the site in this folder, stop it, and answer how long it took to be up."""
    environment = {**os.environ, "RECALL_DATA": str(data), "PORT": str(free_port()), "DATABASE_URL": ""}
    command = [sys.executable, "-m", "recall_site"]
    began = time.perf_counter()
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as site:
        assert site.stdout is not None
        told = []
        while LAST_LINE not in (line := site.stdout.readline()):
            told.append(line)
            if not line:
                sys.exit(f"The site did not start: {''.join(told)}")
        took = time.perf_counter() - began
        site.send_signal(signal.SIGTERM)
        site.communicate()
    return took


def main() -> None:
    """Print both times, and the aim for the second."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        print(f"first start   {seconds_to_start(data):5.1f} s")
        print(f"second start  {seconds_to_start(data):5.1f} s   aim: under {AIM} s")


if __name__ == "__main__":
    main()
