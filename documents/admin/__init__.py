"""The operator's control panel: read-only facts, useful filters, actions that call pipelines."""

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
