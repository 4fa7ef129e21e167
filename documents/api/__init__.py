"""The REST API of documents, jobs, namespaces, profiles and usage: thin doors that validate, call
and serialise.
"""
