"""The service a benchmark measures: its database, settings and web server, and a client for it.

Programs of the other folders import this; it imports only `data`.
"""
