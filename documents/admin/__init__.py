"""The admin pages of documents, jobs, namespaces, keys and profiles.

Mostly read-only lists with filters, and actions that call the pipelines. May import everything in
`documents` and `ragsite` but the API.
"""

from . import (
    audit,
    audited,
    collections,
    documents,
    jobs,
    links,
    memory,
    namespaces,
    profiles,
    removals,
    usage,
)

__all__ = [
    "audit",
    "audited",
    "collections",
    "documents",
    "jobs",
    "links",
    "memory",
    "namespaces",
    "profiles",
    "removals",
    "usage",
]
