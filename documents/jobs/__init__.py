"""The job queue: claims, leases, heartbeats, and the state of the queue.

In: documents to index. Out: claims, each held by one worker at a time; reindexes and evaluation
runs are claimed in the same way. May import models and documents.accounts, and record events for
webhooks, but no pipeline; `drain`, which runs jobs in the calling process, is the exception.
"""
