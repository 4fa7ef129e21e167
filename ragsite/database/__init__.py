"""The database as tenants see it: isolation of namespaces, roles, replicas and timeouts.

Takes a namespace or the operator role; provides transactions that see only that namespace, and the
migration operations that isolate tables by tenant. May import ragsite.postgres and
ragsite.platform, never an app.
"""
