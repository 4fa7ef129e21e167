"""Namespaces with an overview of their contents, their keys, and their deletion with a receipt.

In: forms of operators. Out: namespaces, keys shown once, removals. With `hub.register` the apps
above add panels to a namespace's page. May import what `documents.admin` may.
"""

from . import changelist, deletion, keys
from .changelist import NamespaceAdmin

__all__ = ["NamespaceAdmin", "changelist", "deletion", "keys"]
