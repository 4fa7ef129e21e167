"""Reading pictures of text.

In: a picture. Out: its lines in reading order. base.py is what every engine implements, reader.py
keeps to the limits on pages and time. Plain Python: may import documents.extractors' lines,
cleaning and limits.
"""
