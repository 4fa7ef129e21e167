"""Golden sets: formats, import, export, curation, feedback, and the starter set."""
