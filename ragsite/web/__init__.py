"""How requests are run and answered: threads, streams, rendering, the OpenAPI schema, WebSockets.

In: ASGI events and what views return. Out: responses. May import ragsite.platform, ragsite.database
and ragsite.access, never an app.
"""
