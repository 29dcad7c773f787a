#!/usr/bin/env python
"""Django's command line for Recall."""

import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line

from recall_site import start
from recall_site.data_folder import StartError

# These need no database: they read code and files, or call a running Recall.
WITHOUT_DATABASE = {"check", "collectstatic", "findstatic", "help", "mcp", "spectacular", "version"}


def main(arguments: list[str]) -> None:
    """Run a command, with the embedded database running if the command may need it."""
    try:
        start.ensure_secret_key()
        if len(arguments) > 1 and arguments[1] not in WITHOUT_DATABASE and not {"-h", "--help"} & set(arguments):
            start.ensure_database()
        execute_from_command_line(arguments)
    except (StartError, ImproperlyConfigured) as error:
        sys.exit(f"Recall cannot start: {error}")


if __name__ == "__main__":
    main(sys.argv)
