"""A Markdown page as a script: its console blocks as commands, each with the output shown."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_BLOCK = re.compile(r"^```(console|json)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_CITATION_ID = r"(?<=\[cite:)\w+"  # made anew for each answer
_ANYTHING = re.compile(f"…|{_UUID}|{_CITATION_ID}")
# Values that differ from one run to the next: only their keys are compared.
VARYING = {"times_ms", "scores", "ranks", "relevance", "ann_k", "lexical_k", "id"}


@dataclass
class Step:
    command: str
    shown: str = ""  # the output that the page shows, if any


def steps(page: str) -> Iterator[Step]:
    """The commands after a `$`. Blocks without one install, or start what already runs."""
    last: Step | None = None
    for kind, body in _BLOCK.findall(page):
        if kind == "json":
            assert last is not None, "an output without a command"
            last.shown = body
            continue
        for found in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
            if last is not None:
                yield last
            command, shown = _cut(found)
            last = Step(command, shown)
    if last is not None:
        yield last


def _cut(found: str) -> tuple[str, str]:
    """The command, continued after each backslash, and the output shown below it."""
    lines = found.split("\n")
    end = next(n for n, line in enumerate(lines) if not line.endswith("\\"))
    return "\n".join(lines[: end + 1]), "\n".join(lines[end + 1 :]).strip()


def differences(shown: str, printed: str) -> list[str]:
    """Where the printed output is not what the page shows."""
    if shown.startswith("{"):
        return list(_unlike(json.loads(shown), json.loads(printed), "answer"))
    pairs = zip(shown.splitlines(), printed.strip().splitlines(), strict=False)
    missing = len(shown.splitlines()) - len(printed.strip().splitlines())
    lines = ["lines are missing"] if missing > 0 else []
    return lines + [f"{line!r} is not {own!r}" for line, own in pairs if not _alike(line, own)]


def _unlike(shown: Any, printed: Any, at: str) -> Iterator[str]:
    if isinstance(shown, bool) or not isinstance(shown, int | float):
        if type(shown) is not type(printed):
            yield f"{at}: {shown!r} is not {printed!r}"
            return
    elif not isinstance(printed, int | float):
        yield f"{at}: {shown!r} is not {printed!r}"
        return
    if isinstance(shown, dict):
        for key, value in shown.items():
            if key not in printed:
                yield f"{at}.{key} is not there"
            elif key in VARYING:
                yield from _missing_keys(value, printed[key], f"{at}.{key}")
            else:
                yield from _unlike(value, printed[key], f"{at}.{key}")
    elif isinstance(shown, list):
        if len(shown) > len(printed):
            yield f"{at}: {len(shown)} shown, {len(printed)} there"
        for number, (one, other) in enumerate(zip(shown, printed, strict=False)):
            yield from _unlike(one, other, f"{at}.{number}")
    elif not (_alike(shown, printed) if isinstance(shown, str) else shown == printed):
        yield f"{at}: {shown!r} is not {printed!r}"


def _missing_keys(shown: Any, printed: Any, at: str) -> Iterator[str]:
    if isinstance(shown, dict):
        yield from (f"{at}.{key} is not there" for key in shown if key not in printed)


def _alike(shown: str, printed: str) -> bool:
    """Equal except for ids; an ellipsis stands for anything."""
    parts = _ANYTHING.split(shown)
    pattern = ".*".join(re.escape(part) for part in parts)
    return re.fullmatch(pattern, printed, re.DOTALL) is not None
