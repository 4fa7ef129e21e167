"""The operator's control panel: read-only facts, useful filters, actions that call pipelines."""

from . import documents, facts, jobs, namespaces, profiles, usage

__all__ = ["documents", "facts", "jobs", "namespaces", "profiles", "usage"]
