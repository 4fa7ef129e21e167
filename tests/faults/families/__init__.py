"""All families of faults. Importing this registers them."""

from . import (
    clocks,
    concurrency,
    copies,
    database,
    disk,
    hosts,
    limits,
    migrating,
    processes,
    promotion,
    providers,
    reindexing,
    rotation,
    search_stores,
    storage,
)

__all__ = [
    "clocks",
    "concurrency",
    "copies",
    "database",
    "disk",
    "hosts",
    "limits",
    "migrating",
    "processes",
    "promotion",
    "providers",
    "reindexing",
    "rotation",
    "search_stores",
    "storage",
]
