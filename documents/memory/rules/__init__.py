"""The rules of memory: names that mean the same, periods, certainty and decay.

Plain Python: values come in and go out. No database, no settings, no clock: the caller passes the
time. Imports nothing else of ours.
"""
