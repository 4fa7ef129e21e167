"""The REST API of documents, jobs, namespaces, profiles and usage.

In: requests with API keys. Out: JSON. Views validate, call the pipelines and serialise. May import
everything in `documents` and `ragsite` except the admin.
"""
