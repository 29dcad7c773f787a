"""Prerequisites of every process: the secret key and, without a DATABASE_URL, the embedded Postgres."""

import atexit
import os

from django.core.management.utils import get_random_secret_key

from recall_site import data_folder, environment
from recall_site.postgres import Postgres

SETTINGS = "recall_site.settings"


def ensure_secret_key() -> None:
    """Prepare the data folder and create the secret key, before the settings read it."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", SETTINGS)
    data_folder.prepare(data_folder.location())
    if not environment.read_str("SECRET_KEY"):
        data_folder.ensure_secret(data_folder.location(), "secret_key", get_random_secret_key)


def ensure_database() -> Postgres | None:
    """Run the embedded server for the life of this process, unless DATABASE_URL names another."""
    if environment.read_database_url("DATABASE_URL") is not None:
        return None
    server = Postgres(data_folder.location())
    atexit.register(server.leave)
    server.join()
    return server
