"""The admin pages of documents, jobs, namespaces, keys and profiles.

Mostly read-only lists with filters, and actions that call the pipelines. May import everything in
`documents` and `ragsite` except the API.
"""

from . import (
    audited,
    collections,
    documents,
    jobs,
    links,
    memory,
    namespaces,
    people,
    profiles,
    records,
    webhooks,
)

__all__ = [
    "audited",
    "collections",
    "documents",
    "jobs",
    "links",
    "memory",
    "namespaces",
    "people",
    "profiles",
    "records",
    "webhooks",
]
