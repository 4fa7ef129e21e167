"""What a namespace has learned: the trained models of the reranker `learned`, and the boost from
feedback on similar questions.

In: candidates and votes. Out: candidates in their new order. May import models, rerankers and
retrieval's values; evaluation, above, provides the votes.
"""
