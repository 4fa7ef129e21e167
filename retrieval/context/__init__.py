"""From ranked candidates to passages: reading rows, joining neighbours, the context for a model."""
