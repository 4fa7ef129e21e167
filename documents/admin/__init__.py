"""The admin pages: mostly read-only lists with filters, and actions that call the pipelines."""

from . import audit, audited, documents, facts, jobs, namespaces, profiles, removals, usage

__all__ = [
    "audit",
    "audited",
    "documents",
    "facts",
    "jobs",
    "namespaces",
    "profiles",
    "removals",
    "usage",
]
