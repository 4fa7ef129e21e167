"""Writers of answers: the interface, and the built-in extractive writer.

In: a WritingTask with a question and numbered evidence. Out: pieces of text with markers. Plain
Python; may import documents.text and language models.
"""
