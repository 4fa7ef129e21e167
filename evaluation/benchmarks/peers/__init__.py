"""Other libraries and methods, set up as their documentation recommends, to compare with.

`comparison` is the program; `libraries` and `passages` run in an environment of their own
(requirements/peers.txt) and import nothing of ours.
"""
