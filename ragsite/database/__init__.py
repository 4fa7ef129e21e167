"""The database as tenants see it: the wall between namespaces, roles, replicas and timeouts.

Takes a namespace or the operator role; provides transactions that see that namespace only, and the
migration operations that put tables behind the wall. May import ragsite.postgres and
ragsite.platform, never an app.
"""
