"""Users and groups, and which namespaces a user sees."""

from . import users

__all__ = ["users"]
