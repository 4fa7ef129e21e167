"""Namespaces as hubs, their keys, and their deletion with a receipt.

In: forms of operators. Out: namespaces, keys shown once, removals. `hub.register` is how the apps
above add what they know of a namespace. May import what `documents.admin` may.
"""

from . import changelist, deletion, keys
from .changelist import NamespaceAdmin

__all__ = ["NamespaceAdmin", "changelist", "deletion", "keys"]
