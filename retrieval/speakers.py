"""The speakers whom a question about conversations names.

In "What does Ada like?" the name tells whose turns are meant, and nearly all of these hold it. In
the question's vector it outweighs what is asked, so it is left to the words' leg.
"""

import re
import uuid
from collections.abc import Collection, Iterable

from documents.models import Conversation, Document
from ragsite.database.tenancy import namespace

RECENT = 100  # conversations whose speakers are known
MIN_OTHER_WORDS = 3  # with fewer, the name is what is asked about: "Who is Ada?"
_WORD = re.compile(r"\w+")


def speakers_in(
    namespace_id: uuid.UUID, question: str, *, session: str = "", user: str = ""
) -> tuple[str, ...]:
    """Return the names in the question of those who speak in the newest conversations."""
    if not any(word[0].isupper() for word in _WORD.findall(question)):
        return ()
    with namespace(namespace_id):
        recent = Conversation.objects.order_by("-created_at", "-id")
        if session:
            recent = recent.filter(session=session)
        if user:
            recent = recent.filter(user=user)
        documents = Document.objects.filter(
            pk__in=list(recent.values_list("document_id", flat=True)[:RECENT])
        )
        spoken = list(documents.values_list("metadata__speakers", "metadata__roles"))
    names = {
        name
        for speakers, roles in spoken
        for name in _names(speakers or (), without=roles or ())
        if re.search(_pattern([name]), question)
    }
    return tuple(sorted(names))


def _names(speakers: Iterable[str], *, without: Collection[str]) -> Iterable[str]:
    """Full names and first names; a role that stands for a name is none."""
    for speaker in speakers:
        if speaker.lower() not in without:
            yield speaker
            yield speaker.split()[0]


def leaving_out(names: Collection[str], text: str) -> str:
    """Return the text without these names, if enough is left of it."""
    if not names:
        return text
    rest = " ".join(re.sub(_pattern(names), " ", text).split())
    return rest if len(_WORD.findall(rest)) >= MIN_OTHER_WORDS else text


def _pattern(names: Iterable[str]) -> str:
    longest_first = sorted(names, key=len, reverse=True)
    return rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?:['’]s)?(?!\w)"
