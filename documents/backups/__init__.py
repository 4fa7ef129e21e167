"""Backups of a whole installation: the database and every original that it names, made while the
service runs, checked, and restored here or elsewhere. In: a folder. May import all of documents.
"""
