"""Reading pictures of text.

Takes a picture and returns its lines in reading order. base.py is the interface of engines;
reader.py enforces the limits on pages and time. Plain Python: may import lines, cleaning and
limits from documents.extractors.
"""
