"""Accept documents: detect the type, store the original, queue the job that will index it.

Takes bytes, a URL, a folder or an archive; writes document, version and job in one transaction. May
import extractors (for media types), chunking (for options), collections, jobs, profiles, accounts,
models, and ingestion.editing.
"""
