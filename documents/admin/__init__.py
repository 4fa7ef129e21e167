"""The operator's control panel: read-only facts, useful filters, actions that call pipelines."""

from . import documents, jobs, namespaces, profiles

__all__ = ["documents", "jobs", "namespaces", "profiles"]
