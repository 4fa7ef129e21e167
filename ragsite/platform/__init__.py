"""What every app stands on: the guards at the ASGI layer, and the threads that requests run in.

Modules here know nothing of documents, retrieval or evaluation.
"""
