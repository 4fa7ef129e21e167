"""Guards around the whole application: body sizes, stream limits, send deadlines, refusals.

In: an ASGI application. Out: the same application, which only sees requests that pass.
"""
