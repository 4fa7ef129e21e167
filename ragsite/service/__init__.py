"""What starts and watches the service: preflight, first start, supervisor, worker watch, health.

Stands above the apps: it may import them, and nothing below may import it.
"""
