"""Users and groups, and which namespaces a user sees.

In: forms of superusers. Out: users with their rights, recorded in the audit log. May import what
`documents.admin` may.
"""

from . import users

__all__ = ["users"]
