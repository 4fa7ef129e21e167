"""Accept documents: detect the type, store the original, queue the job that will index it.

In: bytes, a URL, a folder or an archive. Out: document, version and job, written in one
transaction. May import extractors (for media types), jobs, profiles, accounts and models.
"""
