"""Text as models send it, made fit to show and store: no thoughts, no half characters."""

import re

OPENING, CLOSING = "<think>", "</think>"
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class CleanText:
    """Feed it pieces. Drops `<think>…</think>` at the beginning, joins characters that came in two
    halves, and drops what no text may hold."""

    def __init__(self) -> None:
        self._held = ""  # not yet decided
        self._state = "start"  # then "thinking", "after" and "text"

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
        """What was held back, if it turned out to be text."""
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
        """Keep the first half of a surrogate pair until its second half comes."""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._held = text[:-1], text[-1]
        return _readable(text)


def _readable(text: str) -> str:
    if _LONE_SURROGATE.search(text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\0", "")
