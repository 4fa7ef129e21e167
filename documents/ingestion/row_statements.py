"""Tables whose columns are subject, predicate and object: each row is a statement as it stands."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from documents.memory.rules.moments import moment_in
from documents.passages import MAX_FACT_NAME, RowFact

NEEDED = ("subject", "predicate", "object")
OPTIONAL = ("certainty", "user", "tags", "valid_from", "valid_to")
MAX_USER, MAX_TAG, MAX_TAGS = 200, 200, 100  # characters, characters, tags
_TAG_ENDS = re.compile(r"[;,]")

StatementColumns = Mapping[str, int]  # the number of each column that has a meaning


class UnreadableRow(Exception):
    """A cell that says something else than its column can mean. A row is not stored without it:
    that would state more than is written."""


def statement_columns(header: Sequence[str]) -> StatementColumns | None:
    """None for a table of another kind."""
    found: dict[str, int] = {}
    for number, name in enumerate(header):
        meaning = "_".join(re.split(r"[\s_]+", name.strip().casefold()))
        if meaning in (*NEEDED, *OPTIONAL):
            found.setdefault(meaning, number)
    return found if all(name in found for name in NEEDED) else None


def row_statement(
    columns: StatementColumns, cells: Sequence[str], *, start: int, end: int
) -> RowFact | None:
    """None where one of the three is missing. Raises UnreadableRow."""
    said = {name: cells[number].strip() for name, number in columns.items()}
    if not all(said[name] for name in NEEDED):
        return None
    tags = tuple(filter(None, (tag.strip() for tag in _TAG_ENDS.split(said.get("tags", "")))))
    fact = RowFact(
        said["subject"],
        said["predicate"],
        said["object"],
        start,
        end,
        certainty=_share(said.get("certainty", "")),
        user=said.get("user", ""),
        tags=tuple(dict.fromkeys(tags)),
        valid_from=_moment(said.get("valid_from", "")),
        valid_to=_moment(said.get("valid_to", "")),
    )
    _require_sound(fact)
    return fact


def _require_sound(fact: RowFact) -> None:
    is_too_long = (
        max(len(fact.subject), len(fact.predicate)) > MAX_FACT_NAME
        or len(fact.user) > MAX_USER
        or len(fact.tags) > MAX_TAGS
        or any(len(tag) > MAX_TAG for tag in fact.tags)
    )
    ends_early = fact.valid_from and fact.valid_to and fact.valid_to <= fact.valid_from
    if is_too_long or ends_early:
        raise UnreadableRow


def _share(cell: str) -> float:
    if not cell:
        return 1.0
    try:
        share = float(cell)
    except ValueError:
        raise UnreadableRow from None
    if not 0 <= share <= 1:  # nor NaN
        raise UnreadableRow
    return share


def _moment(cell: str) -> datetime | None:
    if not cell:
        return None
    try:
        return moment_in(cell)
    except (ValueError, OverflowError):
        raise UnreadableRow from None
