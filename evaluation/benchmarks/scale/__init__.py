"""How cost grows with the number of chunks, and what other engines make of the same vectors.

Programs here import `data`, `service`, `search` and `load`, and write the coefficients of
`evaluation/capacity`.
"""
