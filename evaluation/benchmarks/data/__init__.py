"""Data for benchmarks: test collections, question sets, sample files, a large corpus, vectors.

In: folders and files. Out: articles, questions, bytes, rows. Runs no service. May import documents
and evaluation.golden.
"""
