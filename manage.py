#!/usr/bin/env python
"""Ragsite's command line: `python manage.py help` lists the commands."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
    from django.core.management import execute_from_command_line

    from ragsite.access.actor import acting_as, command_actor

    with acting_as(command_actor(sys.argv)):
        execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
