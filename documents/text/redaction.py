"""Replace what identifies people or things in a text: addresses, numbers, links."""

import re
from collections.abc import Mapping, Sequence

# Linear in the length of the text: no repetition inside another, and each has an upper bound.
PATTERNS: Mapping[str, re.Pattern[str]] = {
    "email": re.compile(r"[\w.+%-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}"),
    "url": re.compile(r"\bhttps?://[^\s<>\"']{1,2000}", re.IGNORECASE),
    # Telephone numbers, accounts, cards: five digits or more, however they are grouped.
    "number": re.compile(r"\+?\d(?:[ ./()-]{0,2}\d){4,40}"),
}


def redacted(text: str, names: Sequence[str], further: re.Pattern[str] | None = None) -> str:
    """Return the text with `[email]`, `[url]`, `[number]` for the patterns with these names, and
    `[redacted]` for a further one."""
    for name in ("email", "url", "number"):  # an address may hold a number
        if name in names:
            text = PATTERNS[name].sub(f"[{name}]", text)
    return further.sub("[redacted]", text) if further else text
