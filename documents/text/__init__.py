"""Words, sentences, languages and characters of a text.

Takes strings and returns spans, words, language codes and parsed queries. Plain Python: imports
nothing but documents.embedders.model_files (for the list of common words).
"""
