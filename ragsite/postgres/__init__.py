"""The embedded PostgreSQL server and the Django database engine that starts it on demand (base.py).

In: RAGSITE_HOME. Out: a running server, and connections to it or to DATABASE_URL. May import
ragsite.platform, never an app.
"""
