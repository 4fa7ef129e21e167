"""Prepare the question before the search: make it standalone, expand it, rephrase it.

In: the question, and earlier turns. Out: questions to search for. Plain Python; may import language
models and the values of retrieval.answering.
"""
