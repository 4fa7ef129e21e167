"""The job queue: claiming, leases, heartbeats, and what is waiting.

In: ids of work to do. Out: claims that one worker holds at a time. May import models and
documents.accounts, never a pipeline (except `drain`, which runs one).
"""
