"""Search turns of conversations: the usual search, with conditions on turns."""

import uuid
from dataclasses import dataclass, replace
from datetime import datetime, time
from typing import Any

from django.conf import settings

from documents.passages import CONVERSATION

from .filters import Filters, parse_metadata
from .requests import SearchRequest, SearchResult
from .search import search
from .speakers import speakers_in
from .turns import NO_CONDITIONS, TurnConditions


@dataclass(frozen=True, slots=True)
class ConversationQuery:
    """A search of turns. `request` has no filters of its own."""

    request: SearchRequest
    session: str = ""
    user: str = ""
    turns: TurnConditions = NO_CONDITIONS


def search_conversations(namespace_id: uuid.UUID, asked: ConversationQuery) -> SearchResult:
    """Return passages of several turns each, with the turns in their metadata."""
    request = conversation_request(asked)
    named = speakers_in(namespace_id, request.query, session=asked.session, user=asked.user)
    return search(namespace_id, replace(request, speakers=named))


def conversation_request(asked: ConversationQuery) -> SearchRequest:
    """Convert the query to a search request. Days are found by their documents' metadata; within a
    day each passage is checked."""
    turns, wanted = asked.turns, _metadata(asked)
    filters = Filters(
        source_types=(CONVERSATION,),
        # The date of a day's document is that of its first turn.
        date_from=_start_of_day(turns.since),
        date_to=turns.until,
        metadata=parse_metadata(wanted) if wanted else None,
    )
    conditions = turns if turns != NO_CONDITIONS else None
    # Turns are short, and what a question needs is spread over several of them.
    budget = asked.request.token_budget or int(settings.SEARCH["conversation_token_budget"])
    return replace(asked.request, filters=filters, turn_conditions=conditions, token_budget=budget)


def _metadata(asked: ConversationQuery) -> dict[str, Any]:
    wanted: dict[str, Any] = {}
    if asked.session:
        wanted["session"] = asked.session
    if asked.user:
        wanted["user"] = asked.user
    if asked.turns.speakers:
        wanted["speakers"] = {"$in": list(asked.turns.speakers)}
    if asked.turns.roles:
        wanted["roles"] = {"$in": list(asked.turns.roles)}
    return wanted


def _start_of_day(moment: datetime | None) -> datetime | None:
    return moment and datetime.combine(moment.date(), time.min, moment.tzinfo)
