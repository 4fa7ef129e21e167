"""Words, sentences, languages and characters of a text. Plain Python; imports nothing of ours
outside itself.
"""
