"""Pages as pictures: takes a PDF's page or an image, returns a JPEG and the positions of a passage.

Runs in the sandbox worker, like the readers of the same files; no framework. May import what
documents.extractors may.
"""
