"""The REST API of queries, answers, tools and reindexing.

In: HTTP requests. Out: JSON. Validates, calls one function of retrieval or documents, and renders;
nothing else imports it but the URL configuration and the commands.
"""
