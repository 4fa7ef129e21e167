"""Format counts for messages."""


def plural(count: int, noun: str) -> str:
    """Return the count with its noun: `1 document`, `2 documents`, `1,200 queries`, `3
    reindexes`."""
    if count == 1:
        return f"1 {noun}"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return f"{count:,} {noun[:-1]}ies"
    return f"{count:,} {noun}{'es' if noun.endswith('x') else 's'}"
