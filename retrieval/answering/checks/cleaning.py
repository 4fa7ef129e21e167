"""Remove invisible characters from a model's text: control characters, terminal escapes, zero-width
and direction-changing characters. Works for any chunking of the text."""

import unicodedata

import regex

MAX_ESCAPE = 200  # characters; a longer terminal sequence is text
ESCAPE = regex.compile(
    rf"""\x1b(?:
        \[[0-?]*+[\ -/]*+[@-~]
        | [\]PX^_][^\x07\x1b]{{0,{MAX_ESCAPE}}}+(?:\x07|\x1b\\)
        | [\ -/]*+[0-Z\\^-~]
    )""",
    regex.VERBOSE,
)
PLAIN = regex.compile(r"[ -~\n\t]*+")
JOINERS = "\u200c\u200d"  # needed between letters in Persian and Indic words, and in emoji
LINE_BREAKS = frozenset("\x0b\x0c\x85\u2028\u2029")
# Private use characters are removed too, because the checks use them as placeholders.
HIDDEN_CATEGORIES = frozenset(("Cc", "Cf", "Cs", "Co"))
# Look blank but are letters in Unicode: Hangul fillers, Braille blank, Mongolian separator.
BLANK_LETTERS = frozenset("\u115f\u1160\u3164\uffa0\u2800\u180e\u034f")


class Cleaner:
    """Takes pieces of text; the concatenated result does not depend on how they were cut."""

    def __init__(self) -> None:
        self._held = ""
        self._last = ""  # the last character that was kept

    def feed(self, text: str, *, final: bool = False) -> str:
        if not self._held and PLAIN.fullmatch(text):
            self._last = text[-1:] or self._last
            return text
        text = self._without_escapes(self._held + text, final=final)
        kept: list[str] = []
        joiner = ""
        for position, character in enumerate(text):
            if character in JOINERS:
                joiner = character
                continue
            shown = self._shown(character, text, position)
            if shown and joiner and ord(shown) > 127 and self._last > "\x7f":
                kept.append(joiner)
            if shown:
                joiner = ""
                kept.append(shown)
                self._last = shown
        if joiner and not final:
            self._held = joiner + self._held
        return "".join(kept)

    def _without_escapes(self, text: str, *, final: bool) -> str:
        """Hold back what may become a terminal sequence, or a line end split in two."""
        self._held = ""
        parts: list[str] = []
        position = 0
        while (escape := text.find("\x1b", position)) >= 0:
            parts.append(text[position:escape])
            found = ESCAPE.match(text, escape, partial=not final)
            if found and found.partial:
                self._held = text[escape:]
                break
            position = found.end() if found else escape + 1
        else:
            parts.append(text[position:])
        rest = "".join(parts)
        if rest.endswith("\r") and not final:
            self._held = "\r" + self._held
            rest = rest[:-1]
        return rest

    @staticmethod
    def _shown(character: str, text: str, position: int) -> str:
        if character in "\n\t" or " " <= character <= "~":
            return character
        if character == "\r":
            return "" if text[position + 1 : position + 2] == "\n" else "\n"
        if character in LINE_BREAKS:
            return "\n"
        if character in BLANK_LETTERS or unicodedata.category(character) in HIDDEN_CATEGORIES:
            return ""
        return character
