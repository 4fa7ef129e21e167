"""Moving a namespace to another index profile without downtime.

In: a namespace and a profile. Out: an estimate, then a second set of chunks built next to the live
one, a switch to it, and a rollback. May import ingestion, intake, profiles, jobs, memory, accounts
and models.
"""
