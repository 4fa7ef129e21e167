"""Learning from judgements and feedback: training data, and a reranker trained on it.

In: golden sets, feedback and the query log of one namespace. Out: JSON lines, or a linear model
that is stored for the namespace's reranker `learned`.
"""
