"""A conversation as a text: one block for each turn, ordered by its date."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from documents.chunking.turns import TURN
from documents.extractors.cleaning import clean
from documents.models import Conversation, DocumentVersion, Turn
from documents.passages import Block, Extracted
from ragsite.database.tenancy import namespace

GAP = "\n"


@dataclass(frozen=True, slots=True)
class ConversationKey:
    """Identifies the conversation that a turn belongs to."""

    session: str
    user: str
    day: date

    @classmethod
    def of(cls, conversation: Conversation) -> "ConversationKey":
        return cls(conversation.session, conversation.user, conversation.day)


def read_transcript(version: DocumentVersion) -> Extracted:
    """Return the conversation of a document in its current state."""
    with namespace(version.namespace_id):
        conversation = Conversation.objects.get(document=version.document_id)
        return transcript(ConversationKey.of(conversation), turns_of(conversation))


def turns_of(conversation: Conversation) -> list[Turn]:
    """Inside namespace()."""
    return list(Turn.objects.filter(conversation=conversation).order_by("at", "number"))


def transcript(place: ConversationKey, turns: Sequence[Turn]) -> Extracted:
    blocks: list[Block] = []
    pieces: list[str] = []
    position = 0
    for turn in turns:
        piece = f"{name_of(turn)}: {turn.content}"
        start, position = position, position + len(piece)
        blocks.append(Block("text", start, position, attributes=_attributes(turn)))
        pieces.append(piece)
        position += len(GAP)
    speakers = list(dict.fromkeys(name_of(turn) for turn in turns))
    return Extracted(
        text=GAP.join(pieces),
        blocks=tuple(blocks),
        title=title_of(place.day),
        metadata={
            "session": place.session,
            **({"user": place.user} if place.user else {}),
            "date": _utc(turns[0].at) if turns else place.day.isoformat(),
            "last_at": _utc(turns[-1].at) if turns else place.day.isoformat(),
            "speakers": speakers,
            "roles": list(dict.fromkeys(turn.role for turn in turns)),
        },
    )


def name_of(turn: Turn) -> str:
    """Return the speaker's name, or else the role."""
    return turn.speaker or turn.role.capitalize()


def title_of(day: date) -> str:
    """Return a title with the date in words, because questions name months and weekdays."""
    return f"Conversation, {day:%A}, {day.day} {day:%B} {day.year}"


def content_span(turn: Turn, start: int) -> tuple[int, int]:
    """Return the span of a turn's own words, without the name, if its block begins at `start`."""
    first = start + len(f"{name_of(turn)}: ")
    return first, first + len(turn.content)


def cleaned(content: str) -> str:
    """Return the text as it is stored: only line ends, and characters that the database rejects,
    are changed."""
    return clean(content)


def _attributes(turn: Turn) -> dict[str, str]:
    return {
        TURN: str(turn.pk),
        **({"external_id": turn.external_id} if turn.external_id else {}),
        "speaker": name_of(turn),
        "role": turn.role,
        "at": _utc(turn.at),
    }


def _utc(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
