"""All families of faults. Importing this registers them."""

from . import (
    concurrency,
    database,
    disk,
    processes,
    providers,
    reindexing,
    rotation,
)

__all__ = [
    "concurrency",
    "database",
    "disk",
    "processes",
    "providers",
    "reindexing",
    "rotation",
]
