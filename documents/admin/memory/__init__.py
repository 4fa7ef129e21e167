"""Memory in the admin: facts and operations on them; rules, aliases and receipts of erasures.

Everything is read as the operator role, and written by the functions of `documents/memory`. May
import what `documents.admin` may.
"""

from . import facts, naming

__all__ = ["facts", "naming"]
