"""Guards around the whole application: body sizes, stream limits, send deadlines, refusals.

In: an ASGI application. Out: the same behind guards, which only sees requests that pass.
May import ragsite.access, ragsite.database, ragsite.platform and ragsite.web, never an app.
"""
