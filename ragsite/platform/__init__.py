"""Small parts that every app uses: errors, logs, plug-in loader, circuit breaker, private files.

In: plain values and exceptions. Out: error envelopes, log records, configured backends. May import
Django and ragsite.database, never an app.
"""
