"""Settings come from the environment, are documented, and are named in errors."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from recall_site import data_folder, environment

EXAMPLE = Path(settings.ROOT) / ".env.example"


def test_every_variable_that_is_read_stands_in_the_example_and_no_other() -> None:
    assert settings.configured
    documented = set(re.findall(r"^#?([A-Z_]+)=", EXAMPLE.read_text(), flags=re.MULTILINE))
    assert documented == environment.VARIABLES_READ


def test_the_example_gives_the_real_defaults() -> None:
    given = dict(re.findall(r"^#([A-Z_]+)=(.*)$", EXAMPLE.read_text(), flags=re.MULTILINE))
    source = (Path(settings.ROOT) / "recall_site" / "settings.py").read_text()
    for name in ("HOST", "PORT", "WORKERS", "THREADS", "LOG_LEVEL"):
        assert re.search(rf'"{name}", "?{re.escape(given[name])}"?[,)]', source), name


@pytest.mark.parametrize(
    ("came", "meant"), [("1", True), ("Yes", True), ("on", True), ("0", False), ("off", False), ("", True)]
)
def test_a_flag_reads_the_usual_spellings(monkeypatch: pytest.MonkeyPatch, came: str, meant: bool) -> None:
    monkeypatch.setenv("DEBUG", came)
    assert environment.read_flag("DEBUG", default=True) is meant


@pytest.mark.parametrize("came", ["0", "65536", "-1", "80a", "8 0", "٣", "1e3"])
def test_a_number_out_of_range_is_refused_with_name_range_and_value(monkeypatch: pytest.MonkeyPatch, came: str) -> None:
    monkeypatch.setenv("PORT", came)
    with pytest.raises(ImproperlyConfigured) as told:
        environment.read_int("PORT", 8000, low=1, high=65535)
    assert str(told.value) == f"PORT must be a whole number from 1 to 65535; got {came!r}."


def test_an_unknown_choice_and_flag_are_refused_with_what_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOG_LEVEL", "LOUD")
    with pytest.raises(ImproperlyConfigured, match=r"LOG_LEVEL must be one of DEBUG, INFO; got 'LOUD'\."):
        environment.read_choice("LOG_LEVEL", "INFO", ["DEBUG", "INFO"])
    monkeypatch.setenv("DEBUG", "maybe")
    with pytest.raises(ImproperlyConfigured, match=r"DEBUG must be one of 1, true, yes, on, .*; got 'maybe'"):
        environment.read_flag("DEBUG", default=False)


def test_an_origin_needs_a_scheme(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CSRF_TRUSTED_ORIGINS", "https://a.example, b.example")
    with pytest.raises(ImproperlyConfigured, match=r"CSRF_TRUSTED_ORIGINS .*; got 'b\.example'"):
        environment.read_origins("CSRF_TRUSTED_ORIGINS")


def test_a_database_address_is_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://me:p%40ss@db.example:6543/recall?sslmode=require")
    assert environment.read_database_url("DATABASE_URL") == {
        "NAME": "recall",
        "USER": "me",
        "PASSWORD": "p@ss",
        "HOST": "db.example",
        "PORT": "6543",
        "OPTIONS": {"sslmode": "require"},
    }


@pytest.mark.parametrize(
    "came", ["mysql://me:secret@h/db", "postgres://me:secret@h", "secret", "postgres://h/d?secret=1"]
)
def test_a_bad_database_address_is_refused_without_telling_its_password(
    monkeypatch: pytest.MonkeyPatch, came: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", came)
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL must be a URL like postgres://") as told:
        environment.read_database_url("DATABASE_URL")
    assert "secret" not in str(told.value)


def answer_behind_a_proxy(**variables: str) -> dict[str, str]:
    """The headers that a fresh process with these variables gives a request which a proxy took by TLS."""
    asked = (
        "import django, json; django.setup(); from django.test import Client; "
        "told = Client().get('/health/live', headers={'X-Forwarded-Proto': 'https'}); "
        "print(json.dumps(dict(told.items())))"
    )
    plain = {name: value for name, value in os.environ.items() if name not in environment.VARIABLES_READ}
    env = plain | {"ALLOWED_HOSTS": "testserver", "DJANGO_SETTINGS_MODULE": "recall_site.settings", **variables}
    told = subprocess.run([sys.executable, "-c", asked], cwd=settings.ROOT, env=env, capture_output=True, check=True)
    headers: dict[str, str] = json.loads(told.stdout)
    return headers


@pytest.mark.slow
def test_browsers_are_held_to_tls_only_behind_a_trusted_proxy_and_an_https_origin() -> None:
    origin = {"CSRF_TRUSTED_ORIGINS": "https://recall.example.com"}
    assert answer_behind_a_proxy(**origin, TRUST_PROXY="on")["Strict-Transport-Security"] == "max-age=31536000"
    assert "Strict-Transport-Security" not in answer_behind_a_proxy(**origin)
    assert "Strict-Transport-Security" not in answer_behind_a_proxy(TRUST_PROXY="on")


def test_a_secret_is_made_once_and_readable_by_its_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    made = data_folder.ensure_secret(folder, "secret_key", lambda: "first")
    assert (made, data_folder.ensure_secret(folder, "secret_key", lambda: "second")) == ("first", "first")
    assert (folder / "secret_key").stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o066 == 0
