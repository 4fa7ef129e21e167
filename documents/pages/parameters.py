"""Numbers in query strings; malformed ones are ignored."""

from django.http import QueryDict

MAX_POSITION = 2**31 - 1


def number(parameters: QueryDict, name: str) -> int | None:
    value = parameters.get(name, "")
    if not (value.isascii() and value.isdecimal() and len(value) <= 10):
        return None
    return min(int(value), MAX_POSITION)
