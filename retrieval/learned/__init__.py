"""What a namespace has learned: the trained models of the reranker `learned`, and the boost from
feedback on similar questions."""
