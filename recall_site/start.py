"""What must stand before Django can work: the secret key and, without a DATABASE_URL, the embedded Postgres."""

import atexit
import os

from django.core.management.utils import get_random_secret_key

from recall_site import data_folder, environment
from recall_site.postgres import Postgres

SETTINGS = "recall_site.settings"


def ensure_secret_key() -> None:
    """Make the key once, before the settings read it."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", SETTINGS)
    if not environment.text("SECRET_KEY"):
        data_folder.keep(data_folder.location(), "secret_key", get_random_secret_key)


def ensure_database() -> Postgres | None:
    """Have the embedded server run for as long as this process does, unless another database is named."""
    if environment.database("DATABASE_URL") is not None:
        return None
    server = Postgres(data_folder.location())
    atexit.register(server.leave)
    server.join()
    return server
