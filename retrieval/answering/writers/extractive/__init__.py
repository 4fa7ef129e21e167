"""Answers without a language model: the sentences that answer best, verbatim and cited.

Takes a WritingTask and yields one Piece per chosen unit, in document order. A unit is what a reader
needs to understand one sentence: the sentence before a pronoun, the header above a table row, the
line that introduces a list. `writer.py` is the flow; every module here is plain Python.
docs/decisions/0022-extractive-answers.md describes the alternatives and has the numbers. May import
what retrieval.answering.writers may.
"""

from .writer import ExtractiveWriter

__all__ = ["ExtractiveWriter"]
