"""Words, sentences, languages and characters of a text.

In: a string. Out: spans, words, language codes, parsed queries. Plain Python: may import only
itself and the list of common words in documents.embedders.model_files.
"""
