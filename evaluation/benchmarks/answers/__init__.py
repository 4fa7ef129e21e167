"""Programs that measure answers: how soon they start, and whether they are right.

In: folders of data. Out: tables of figures. May import everything; nothing imports it.
"""
