"""Facts over the API: listing and stating them, and their JSON form.

In: statements. Out: facts with their provenances. May import what `documents.api` may, and
documents.memory.
"""
