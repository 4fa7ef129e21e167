"""POST /v1/responses, stateless: an answer from the documents, or from named vector stores.

In: turns and the tool file_search. Out: a response or its stream. May import what
`retrieval.openai_api` may.
"""
