"""Clean up the text that models send: drop reasoning and broken characters."""

import re

OPENING, CLOSING = "<think>", "</think>"
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class CleanText:
    """Takes pieces of text. Drops `<think>…</think>` at the beginning, joins split surrogate pairs,
    and drops NUL characters."""

    def __init__(self) -> None:
        self._held = ""  # not yet decided
        self._state = "start"  # the states are "", "thinking", "after" and "text"

    def feed(self, text: str) -> str:
        text = self._held + text
        self._held = ""
        if self._state == "start":
            text = self._begin(text)
        if self._state == "thinking":
            text = self._think(text)
        if self._state == "after":
            text = text.lstrip()
            self._state = "text" if text else "after"
        return self._whole(text) if self._state == "text" else ""

    def end(self) -> str:
        """Return the text held back so far, unless it is reasoning."""
        held, self._held = self._held, ""
        return "" if self._state == "thinking" else _readable(held)

    def _begin(self, text: str) -> str:
        bare = text.lstrip()
        if len(bare) < len(OPENING) and OPENING.startswith(bare):
            self._held = text
        elif bare.startswith(OPENING):
            self._state = "thinking"
            return bare.removeprefix(OPENING)
        else:
            self._state = "text"
        return text

    def _think(self, text: str) -> str:
        _, closing, rest = text.partition(CLOSING)
        if closing:
            self._state = "after"
            return rest
        self._held = text[-len(CLOSING) :]  # the tag may come in parts
        return ""

    def _whole(self, text: str) -> str:
        """Hold back the first half of a surrogate pair until the second arrives."""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._held = text[:-1], text[-1]
        return _readable(text)


def _readable(text: str) -> str:
    if _LONE_SURROGATE.search(text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\0", "")
