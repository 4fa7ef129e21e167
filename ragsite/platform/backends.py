"""The one plug-in mechanism: a {"BACKEND": dotted path, "OPTIONS": {…}} setting → one instance."""

from functools import cache
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string


@cache
def load_backend(setting: str, alias: str = "default") -> Any:
    """Build the object described by settings.<setting>[alias], once per process."""
    entry = getattr(settings, setting)[alias]
    return import_string(entry["BACKEND"])(**entry.get("OPTIONS", {}))
