"""The audit behind `manage.py verify`: what must hold of rows and files, and how to mend it.

Each check finds the ids that break one rule. Checks only read; repairs go through the same
functions as everything else, and no repair deletes a document or its original.
"""
