"""Which facts a search considers."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class FactScope:
    """Which facts to read. Without `as_of`: what holds now, or at `known_at` if that is given."""

    subjects: tuple[str, ...] = ()
    predicates: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()  # with all of these
    user: str | None = None  # theirs and those of nobody in particular; None: everybody's
    as_of: datetime | None = None
    known_at: datetime | None = None
