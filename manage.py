#!/usr/bin/env python
"""Django's command line for Recall."""

import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line

from recall_site import start
from recall_site.data_folder import StartError

# These look at code and files only, or ask a Recall that runs, so they need not wait for a database.
WITHOUT_DATABASE = {"check", "collectstatic", "findstatic", "help", "mcp", "spectacular", "version"}


def main(arguments: list[str]) -> None:
    """Run one command, with the embedded database at hand if it may need one."""
    try:
        start.ensure_secret_key()
        if len(arguments) > 1 and arguments[1] not in WITHOUT_DATABASE and not {"-h", "--help"} & set(arguments):
            start.ensure_database()
    except (StartError, ImproperlyConfigured) as error:
        sys.exit(f"Recall cannot start: {error}")
    execute_from_command_line(arguments)


if __name__ == "__main__":
    main(sys.argv)
