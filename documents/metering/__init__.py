"""What calls to providers cost, by namespace and month, and how fast they may be made.

In: tokens that were used. Out: rows of usage, refusals at the caps. Writes to the database.
"""
