"""Facts in searches: found by meaning and words, weighted by certainty and age.

`finding.recall` is the only search over facts; `mixing` adds its hits to passages. Reads what
`documents/memory` stores. In: a question and a scope. Out: facts with their scores. May import
candidates, context and ranking, never search.
"""
