"""Checks before anything starts. Each error message says what to do."""

import shutil
import socket

from django.conf import settings
from django.db import connection

from ragsite.database import roles
from ragsite.platform.private_files import make_folder

NEEDED_BYTES = 300 * 1024 * 1024


class CannotStart(Exception):
    """The message says why, and what to do."""


def require_disk_space() -> None:
    make_folder(settings.HOME, mode=0o711)
    free = shutil.disk_usage(settings.HOME).free
    if free < NEEDED_BYTES:
        raise CannotStart(
            f"The disk is full: {free // 2**20} MB are left for {settings.HOME}, and at least "
            f"{NEEDED_BYTES // 2**20} MB are needed. Free some, or set RAGSITE_HOME elsewhere."
        )


def require_port() -> None:
    family = socket.AF_INET6 if ":" in settings.HOST else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.HOST, settings.PORT))
        except OSError as error:
            raise CannotStart(
                f"Cannot listen on {settings.HOST}:{settings.PORT} ({error.strerror}). "
                f"Choose another port: PORT={settings.PORT + 1} make run"
            ) from None


def require_usable_database() -> None:
    try:
        roles.require_supported(connection)
        for alias in ("default", "operator"):
            roles.require_row_security(alias)
    except roles.UnsuitableDatabase as error:
        raise CannotStart(str(error)) from None
