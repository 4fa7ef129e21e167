"""A namespace as one portable file: documents, originals, passages with their vectors, facts,
golden sets and settings. Exported from one server, imported into another or beside the original,
without embedding anything again. May import all of documents.
"""
