"""Users and groups, and the namespaces of each user.

In: forms of superusers. Out: users with their rights, recorded in the audit log. May import what
`documents.admin` may.
"""

from . import users

__all__ = ["users"]
