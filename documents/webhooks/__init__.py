"""Signed webhooks: clients get to know when documents, reindexes and evaluations are finished.

In: what happened, recorded by `events.emit` in the transaction in which it happens. Out: POST
requests as Standard Webhooks describes them, sent by workers until they are accepted. May import
models, jobs, accounts and the guarded connections of documents.intake.
"""
