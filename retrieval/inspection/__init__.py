"""For operators who look into the index: why a search found a chunk or not, and what is near it.

Takes a chunk and a question, returns every stage's verdict. May import the whole search; the admin
imports it, and no search does.
"""
