"""Find the sentences of a text with sentencex, working around its slowness and panics."""

import re
from itertools import pairwise

import sentencex

from documents.text.boundaries import Span, grapheme_cut, trimmed

# sentencex is quadratic on dense CJK or quotation marks: in windows of 2,000 characters it takes at
# most 3 µs per character, in windows of 16,000 it takes 45 µs.
WINDOW = 2000
# sentencex 1.0.32 panics on multi-byte whitespace between an initial and its full stop
# ("B\u00a0."), and a Rust panic is a BaseException, which `except Exception` does not catch.
ODD_SPACE = re.compile(r"[^\S\n]")
LAST_SPACE = re.compile(r".*\s", re.DOTALL)
CLOSING = re.compile(r"""[*_~`"'”’»)\]}]+(?=\s|$)""")


def sentence_spans(text: str, *, language: str = "en") -> list[Span]:
    """Return spans that cover the text in order, separated only by whitespace."""
    spans: list[Span] = []
    start = 0
    while start < len(text):
        window = text[start : _window_end(text, start)]
        ends = _sentence_ends(window, language=language)
        if start + len(window) < len(text) and len(ends) > 1:
            ends.pop()  # the sentence may continue: the next window starts with it
        edges = [start, *(start + end for end in ends)]
        spans.extend(trimmed(text, *edge) for edge in pairwise(edges))
        start = edges[-1]
    return [span for span in spans if span[0] < span[1]]


def _window_end(text: str, start: int) -> int:
    end = start + WINDOW
    if end >= len(text):
        return len(text)
    space = LAST_SPACE.match(text, start + WINDOW // 2, end)
    return space.end() if space else grapheme_cut(text, start, end)


def _sentence_ends(window: str, *, language: str) -> list[int]:
    """Return the offset after each sentence; the last is the length of the window."""
    ends = [0]
    position = 0
    for sentence in sentencex.segment(language, ODD_SPACE.sub(" ", window)):
        position += len(sentence)
        end = _adjusted(window, position)
        if end > ends[-1]:
            ends.append(end)
    if ends[-1] < len(window):
        ends.append(len(window))
    return ends[1:]


def _adjusted(window: str, end: int) -> int:
    """Adjust an end for Markdown, code and tables; 0 if no sentence ends there."""
    if end == len(window):
        return end
    words_end = len(window[:end].rstrip())
    if words_end < end:
        # sentencex takes "(1)" for the next list item, even in the middle of a line.
        in_line = "\n" not in window[words_end:end]
        return 0 if in_line and window[words_end - 1].isalnum() else end
    if window[end].isspace():
        return end
    if closing := CLOSING.match(window, end):
        return closing.end()  # "**Done.** Next" ends after its asterisks
    return 0 if window[end - 1].isascii() else end  # "os.Path" is no end; "。" needs no space
