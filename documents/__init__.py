"""Turn files into searchable chunks."""
