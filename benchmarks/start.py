"""Time of a first and a second start, from the command to the last line of output, and of each step it prints."""

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
TARGETS = {"first": 15, "second": 5}  # seconds
LAST_LINE = "Press Ctrl-C to stop."
STEP = re.compile(r"(.+) … ([\d.]+) s$")


def free_port() -> int:
    """A free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def time_start(data: Path) -> tuple[float, dict[str, float]]:
    """Start the site with this data folder and stop it; the seconds until it was up, in all and by step."""
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
        seconds = time.perf_counter() - began
        site.send_signal(signal.SIGTERM)
        site.communicate()
    steps = {step[1]: float(step[2]) for line in output if (step := STEP.match(line))}
    return seconds, {**steps, "rest (imports, workers)": seconds - sum(steps.values())}


def main() -> None:
    """Print both starts, their steps and their targets."""
    with tempfile.TemporaryDirectory() as folder:
        for start, target in TARGETS.items():
            seconds, steps = time_start(Path(folder) / "data")
            print(f"{f'{start} start':<28}{seconds:6.1f} s   target: under {target} s")
            for step, took in steps.items():
                print(f"  {step:<26}{took:6.1f} s")


if __name__ == "__main__":
    main()
