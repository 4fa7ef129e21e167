"""Pages as pictures: a PDF's page or an image in, a JPEG and the places of a passage out.

Runs in the sandbox worker, like the readers of the same files; no framework. May import what
documents.extractors may.
"""
