"""All families of faults. Importing this registers them."""

from . import (
    concurrency,
    database,
    disk,
    hosts,
    processes,
    promotion,
    providers,
    reindexing,
    rotation,
)

__all__ = [
    "concurrency",
    "database",
    "disk",
    "hosts",
    "processes",
    "promotion",
    "providers",
    "reindexing",
    "rotation",
]
