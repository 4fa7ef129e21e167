"""Which facts a search considers."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class FactScope:
    """The facts that a search considers. Without `as_of`: those that are true now, or at `known_at`
    if that is given."""

    subjects: tuple[str, ...] = ()
    predicates: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()  # with all of these
    # facts of this user and those of no particular user; None: of all users
    user: str | None = None
    as_of: datetime | None = None
    known_at: datetime | None = None
