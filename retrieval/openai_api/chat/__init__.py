"""POST /v1/chat/completions: the last message is a question, answered from the documents.

In: messages. Out: a completion or its stream. May import what `retrieval.openai_api` may.
"""
