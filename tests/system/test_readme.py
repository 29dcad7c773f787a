"""Every command and example of the README is run."""

import doctest
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen

import pytest
from django.conf import settings
from django.core.management import call_command
from pytest_django.live_server_helper import LiveServer

from memories.models import ApiKey, Namespace
from tests.support.site import copy_data

README = (Path(settings.ROOT) / "README.md").read_text()
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) for line in block.splitlines()]
# Running the test suite from a test would recurse.
ITSELF = "make test"


def commands(start: str) -> list[str]:
    """The commands of the README with this prefix."""
    return [command for command in COMMANDS if command.startswith(start)]


def workshop_key(capsys: pytest.CaptureFixture[str]) -> str:
    """A key of the namespace that the README makes."""
    call_command("create_namespace", "workshop")
    capsys.readouterr()
    call_command("create_key", "workshop", role="write")
    return capsys.readouterr().out.strip()


def test_every_command_of_the_readme_is_run_by_a_test_below() -> None:
    covered = [*commands("make run"), *commands("curl"), *commands(".venv/bin/python manage.py")]
    assert sorted([*covered, ITSELF]) == sorted(COMMANDS)


def test_every_python_example_gives_the_output_shown(
    live_server: LiveServer, capsys: pytest.CaptureFixture[str]
) -> None:
    key = workshop_key(capsys)
    examples = "\n".join(re.findall(r"```python\n(.*?)```", README, re.DOTALL))
    examples = examples.replace("http://127.0.0.1:8000", live_server.url).replace("rk_…", key)
    parsed = doctest.DocTestParser().get_doctest(examples, {}, "README", "README.md", 0)
    assert doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL).run(parsed).failed == 0


def test_the_calls_store_a_memory_retrieve_it_and_list_the_systems(
    live_server: LiveServer, capsys: pytest.CaptureFixture[str]
) -> None:
    key = workshop_key(capsys)
    answers = []
    for command in commands("curl"):
        here = command.replace("http://127.0.0.1:8000", live_server.url).replace("rk_…", key)
        done = subprocess.run(shlex.split(here), capture_output=True, check=True, timeout=60)
        answers.append(json.loads(done.stdout))
    stored, retrieved, systems = answers
    assert stored["outcome"] == "stored"
    assert [result["content"] for result in retrieved["results"]] == ["Maya plays the cello"]
    assert len(systems["systems"]) == 6


@pytest.mark.django_db
def test_the_operators_commands_work(capsys: pytest.CaptureFixture[str]) -> None:
    for command in commands(".venv/bin/python manage.py"):
        call_command(*shlex.split(command)[2:])
    namespace = Namespace.objects.get(slug="workshop")
    key = ApiKey.objects.within(namespace).get()
    assert key.role == "write"
    assert capsys.readouterr().out.splitlines()[-1].startswith(key.prefix)


@pytest.mark.xdist_group("start")
def test_make_run_brings_the_site_up(tmp_path: Path, empty_data: Path) -> None:
    (command,) = commands("make run")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    # Other tests cover the first start and the demo world.
    data = copy_data(empty_data, tmp_path / "data")
    settings_env = {"PORT": str(port), "RECALL_DATA": str(data), "PATH": path, "RECALL_DEMO": "off"}
    env = {**os.environ, **settings_env}
    env.pop("DJANGO_SETTINGS_MODULE", None)
    running = subprocess.Popen(
        shlex.split(command), cwd=settings.ROOT, env=env, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert running.stdout is not None
        output = []
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and not any("Ctrl-C" in line for line in output):
            output.append(running.stdout.readline())
        assert any(f"http://127.0.0.1:{port}" in line for line in output), "".join(output)
        assert any("Create a first user" in line for line in output)
        with urlopen(f"http://127.0.0.1:{port}/health/ready", timeout=10) as answer:
            assert answer.status == 200
    finally:
        os.killpg(running.pid, signal.SIGINT)
        running.communicate(timeout=30)
