"""How good the search is: golden sets, measures and runs. Imports retrieval and documents, and is
imported by neither."""
