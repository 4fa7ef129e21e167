"""Loading many documents at once: the same rows as one by one, in few statements.

In: files. Out: searchable documents. May import ingestion, intake, jobs, profiles, metering,
accounts, webhooks and models.
"""
