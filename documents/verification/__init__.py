"""The audit behind `manage.py verify`: the rules that rows and files must satisfy, and their
repairs.

In: namespaces. Out: findings, without content. Each check finds the ids that break one rule. Checks
only read; repairs use the same functions as everything else, and no repair deletes a document or
its original. May import all of documents except the API, the admin and the commands.
"""
