"""The turns in a passage of a conversation, and conditions on them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

StoredTurn = Mapping[str, Any]  # as the conversation's chunks have them (documents/chunking/turns)


@dataclass(frozen=True, slots=True)
class TurnConditions:
    """Conditions that at least one turn of a passage must meet; empty conditions always hold."""

    roles: tuple[str, ...] = ()
    speakers: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None

    def hold_for_any(self, turns: Sequence[StoredTurn]) -> bool:
        return any(self._hold_for(turn) for turn in turns)

    def _hold_for(self, turn: StoredTurn) -> bool:
        if self.roles and turn["role"] not in self.roles:
            return False
        if self.speakers and turn["speaker"] not in self.speakers:
            return False
        at = datetime.fromisoformat(turn["at"])
        return (self.since is None or at >= self.since) and (self.until is None or at <= self.until)


NO_CONDITIONS = TurnConditions()


def merged(passages: Sequence[Sequence[StoredTurn]]) -> list[StoredTurn]:
    """Return the turns of several chunks, each once, in chronological order."""
    by_id = {turn["turn"]: turn for turns in passages for turn in turns}
    return sorted(by_id.values(), key=lambda turn: int(turn["start"]))
