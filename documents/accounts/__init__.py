"""Namespaces, keys, quotas, operators' logins and the audit log.

Manages the rows that decide who may do what, and records who did it. May import the models and
`ragsite`; nothing of retrieval or evaluation.
"""
