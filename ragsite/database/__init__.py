"""The database as tenants see it: the wall between namespaces, roles, replicas and timeouts.

In: a namespace or the operator role. Out: transactions that see that namespace and no other, and
the migration operations that put tables behind the wall. May import ragsite.postgres and
ragsite.platform, never an app.
"""
