"""Programs that measure the speed of search, and the ranking on judged questions.

In: folders of data. Out: tables of figures. May import everything; nothing imports it.
"""
