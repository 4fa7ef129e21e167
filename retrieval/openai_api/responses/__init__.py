"""POST /v1/responses, stateless: an answer from the documents, or from named vector stores."""
