"""Namespaces, keys, quotas, operators' logins and the audit log.

In: acts of operators and keys. Out: rows that decide who may do what, and a trace of who did.
"""
