"""Collections: named sets of documents inside a namespace, with attributes of each membership.

In: names, ids and attributes from the API, the admin and commands. Out: rows, and the SQL by which
a search is restricted to a collection. May import models, errors, the audit log and the revision.
"""
