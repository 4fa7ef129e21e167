"""Learning from judgements and feedback: training data, a reranker trained on it, and the votes of
the learned boost with their effect on held-out questions.

In: golden sets, feedback and the query log of one namespace. Out: JSON lines; a linear model for
the namespace's reranker `learned`; votes for the stage in retrieval/learned/boosting.py. May import
golden, measures, runs, models, retrieval and documents.
"""
