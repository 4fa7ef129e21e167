"""Measure the quality of search: golden sets, measures and runs. Imports retrieval and documents,
which never import it."""
