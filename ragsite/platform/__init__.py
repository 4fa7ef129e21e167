"""What every app stands on and none of them owns: guards, limits, policies, and who is acting.

Modules here know nothing of documents, retrieval or evaluation.
"""
