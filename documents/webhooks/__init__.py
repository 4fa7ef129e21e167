"""Signed webhooks: notify clients when documents, reindexes and evaluations are finished.

In: events, recorded by `events.emit` in the transaction in which they happen. Out: POST requests in
the format of Standard Webhooks, sent by workers until they are accepted. May import models, jobs,
accounts and the guarded connections of documents.intake.
"""
