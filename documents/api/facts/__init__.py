"""Facts over the API: the list, statements that come in, and how a fact is represented."""
