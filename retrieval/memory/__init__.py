"""Facts as search finds them: by meaning and words, weighed by certainty and age.

`finding.recall` is the one search over facts; `mixing` puts its hits among passages. Reads what
`documents/memory` stores. In: a question and a scope. Out: facts with their scores. May import
candidates, context and ranking, never search.
"""
