"""Statements made in a conversation: they belong to its user and are valid since that turn."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from documents.models import FactStatement, Turn

from .statements import InvalidStatement, StatedFact, Unset


def with_turns(statements: Sequence[StatedFact]) -> list[StatedFact]:
    """Complete the statements that name a turn. Inside namespace(). Raises InvalidStatement."""
    ids = {each.turn_id for each in statements if each.turn_id}
    turns = {
        turn.pk: turn
        for turn in Turn.objects.filter(pk__in=ids).select_related("conversation").defer("content")
    }
    return [_completed(each, turns) if each.turn_id else each for each in statements]


def _completed(statement: StatedFact, turns: dict[Any, Turn]) -> StatedFact:
    turn = turns.get(statement.turn_id)
    if turn is None:
        raise InvalidStatement("turn_id: there is no such turn in this namespace.")
    is_open = isinstance(statement.valid_from, Unset)
    return replace(
        statement,
        kind=FactStatement.Kind.TURN,
        conversation_id=turn.conversation_id,
        user=statement.user or turn.conversation.user,
        valid_from=turn.at if is_open else statement.valid_from,
    )
