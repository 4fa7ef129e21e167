"""The trained models of the reranker `learned`, one for each namespace, behind the tenant wall."""
