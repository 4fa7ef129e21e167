"""Taking a document in: what it is, where its original is kept, the job that will index it.

In: bytes, a URL, a folder or an archive. Out: document, version and job, written as one.
"""
