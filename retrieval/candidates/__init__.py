"""Finding candidates: the vector leg and the lexical leg, under the same filters, scored by both.

In: a parsed query, filters, a profile. Out: candidates with both scores. Reads the database inside
namespace().
"""
