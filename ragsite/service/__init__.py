"""Starts and watches the service: preflight, first start, supervisor, worker watch, health.

In: settings. Out: running processes, and /livez and /readyz. It may import every app and every room
of ragsite; only urls, asgi and the commands import it.
"""
