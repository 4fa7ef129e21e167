"""Tables with the columns subject, predicate and object: each row is a statement."""

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
    """A cell cannot be read as what its column means. The whole row is left out, because without
    the cell it would state more than is written."""


def statement_columns(header: Sequence[str]) -> StatementColumns | None:
    """Return the columns by their meaning; None if this is not a table of statements."""
    found: dict[str, int] = {}
    for number, name in enumerate(header):
        meaning = "_".join(re.split(r"[\s_]+", name.strip().casefold()))
        if meaning in (*NEEDED, *OPTIONAL):
            found.setdefault(meaning, number)
    return found if all(name in found for name in NEEDED) else None


def row_statement(
    columns: StatementColumns, cells: Sequence[str], *, start: int, end: int
) -> RowFact | None:
    """Return None if subject, predicate or object is empty. Raises UnreadableRow."""
    row = {name: cells[number].strip() for name, number in columns.items()}
    if not all(row[name] for name in NEEDED):
        return None
    tags = tuple(filter(None, (tag.strip() for tag in _TAG_ENDS.split(row.get("tags", "")))))
    fact = RowFact(
        row["subject"],
        row["predicate"],
        row["object"],
        start,
        end,
        certainty=_share(row.get("certainty", "")),
        user=row.get("user", ""),
        tags=tuple(dict.fromkeys(tags)),
        valid_from=_moment(row.get("valid_from", "")),
        valid_to=_moment(row.get("valid_to", "")),
    )
    _require_valid(fact)
    return fact


def _require_valid(fact: RowFact) -> None:
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
    if not 0 <= share <= 1:  # or NaN
        raise UnreadableRow
    return share


def _moment(cell: str) -> datetime | None:
    if not cell:
        return None
    try:
        return moment_in(cell)
    except (ValueError, OverflowError):
        raise UnreadableRow from None
