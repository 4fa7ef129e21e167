"""Namespaces, keys, quotas, operators' logins and the audit log.

In: what operators and API keys ask for. Out: rows that decide who may do what, and a record of who
did it. May import the models and `ragsite`; nothing of retrieval or evaluation.
"""
