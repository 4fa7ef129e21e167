"""Other libraries and methods, set up as their documentation recommends, to compare with.

`comparison` is the program; `libraries` and `passages` run in a separate environment
(requirements/peers.txt) and import none of our code.
"""
