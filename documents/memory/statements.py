"""Values for statements: what is submitted, its keys, and the result."""

import uuid
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

from documents.models import FactStatement
from documents.passages import MAX_FACT_NAME
from ragsite.platform.errors import ApiError

MAX_OBJECT = 10_000  # characters of its JSON


class Unset:
    """The value of a `valid_from` that was left out, which means from now on; null means always."""


UNSET: Final = Unset()

What = Literal["created", "confirmed", "known", "proposed"]


@dataclass(frozen=True, slots=True)
class Place:
    """The place where a statement is written: version.text[start:end]."""

    document_id: uuid.UUID
    version_id: uuid.UUID
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class StatedFact:
    """A statement as submitted."""

    subject: str
    predicate: str
    object: Any  # JSON
    certainty: float = 1.0
    user: str = ""
    tags: tuple[str, ...] = ()
    source_uri: str = ""
    valid_from: datetime | Unset | None = UNSET
    valid_to: datetime | None = None
    statement_id: str = ""  # the client's own id; a repeated request with it changes nothing
    kind: str = FactStatement.Kind.CLIENT
    source: str = "stated"  # of the fact, if this is its first statement
    place: Place | None = None
    conversation_id: uuid.UUID | None = None
    turn_id: uuid.UUID | None = None


class Slot(NamedTuple):
    """The statements about one subject and predicate in one user's memory."""

    user: str
    subject_key: str
    predicate_key: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a statement. `closed` are other facts that ended because of it."""

    fact_id: uuid.UUID
    what: What
    at: datetime
    statement_id: uuid.UUID | None = None
    closed: tuple[uuid.UUID, ...] = ()


@dataclass(slots=True)
class Changes:
    """The changes that an operation has made to facts."""

    created: list[uuid.UUID] = field(default_factory=list)
    reworded: list[uuid.UUID] = field(default_factory=list)  # worded by another statement now
    closed: list[uuid.UUID] = field(default_factory=list)

    @property
    def without_vector(self) -> list[uuid.UUID]:
        return [*self.created, *self.reworded]

    def clear(self) -> None:
        """Discard the changes of an attempt that was rolled back."""
        for found in (self.created, self.reworded, self.closed):
            found.clear()


class InvalidStatement(ApiError):
    """The statement cannot be stored."""

    def __init__(self, message: str) -> None:
        super().__init__("invalid_statement", message, http_status=422)


class FactConflict(ApiError):
    """The change is not possible in the fact's current state."""

    def __init__(self, message: str) -> None:
        super().__init__("fact_conflict", message, http_status=409)


def require_sound(statement: StatedFact, at: datetime) -> None:
    """Raise InvalidStatement for names without words, or a period that ends before it begins."""
    for name in (statement.subject, statement.predicate):
        if not name.strip() or len(name) > MAX_FACT_NAME:
            raise InvalidStatement(
                f"Subject and predicate have 1 to {MAX_FACT_NAME} characters and are not blank."
            )
    begins = begins_at(statement, at)
    if begins is not None and statement.valid_to is not None and statement.valid_to <= begins:
        raise InvalidStatement(
            "valid_to must be after valid_from, which is now where it is left out."
        )


def begins_at(statement: StatedFact, at: datetime) -> datetime | None:
    return at if isinstance(statement.valid_from, Unset) else statement.valid_from
