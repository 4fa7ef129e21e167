"""The rules of memory in plain Python: names that mean the same, periods, certainty and decay.

Values come in and go out. No database, no settings, no clock: the caller says what time it is.
"""
