"""The request for an answer and its results, shared by all callers and steps.

All offsets are code points. `start` and `end` of a citation refer to the text of the document's
version (GET /documents/{id}/text), `answer_start` and `answer_end` to the answer.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from documents.language_models.base import Message, Usage
from retrieval.requests import Hit, SearchRequest


@dataclass(frozen=True, slots=True)
class AnswerRequest:
    search: SearchRequest  # its query is the latest question, as typed
    messages: tuple[Message, ...] = ()  # earlier turns of user and assistant, oldest first
    model: str = ""  # alias of settings.LANGUAGE_MODELS; blank: the namespace's or the default
    temperature: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    instructions: str = ""  # the client's, e.g. "Answer in one sentence"; never override the rules
    verify: bool = False  # let the verifier judge each citation at the end
    expand_query: str = "none"  # none | multi-query | hyde | step-back
    raw_filters: Any = None  # as the client sent them, for the query log


@dataclass(frozen=True, slots=True)
class Preferences:
    """A namespace's preferences for answers."""

    model: str = ""
    system_prompt: str = ""
    language: str = ""  # blank: that of the question
    min_relevance: float | None = None  # required of the best passage; None: as configured


@dataclass(frozen=True, slots=True)
class Evidence:
    """A passage that an answer may cite, with a short id that no document can know."""

    id: str
    hit: Hit
    as_of: datetime | None = None  # the document's own date

    @property
    def text(self) -> str:
        """`text[i]` is character `hit.start + i` of the document's text."""
        return self.hit.content


@dataclass(frozen=True, slots=True)
class Citation:
    """`cited_text` is exactly the document's text from `start` to `end`."""

    id: str  # of the evidence, as in the marker [cite:ID]
    evidence: Evidence
    cited_text: str
    start: int
    end: int
    answer_start: int  # span of the claim before the marker, in the answer
    answer_end: int
    is_quote: bool = False  # the answer repeats cited_text between quotation marks
    page_start: int | None = None
    page_end: int | None = None
    supported: bool | None = None  # the verifier's verdict, if any


@dataclass(frozen=True, slots=True)
class CheckedText:
    """A part of the answer that may be sent: known markers, exact quotes."""

    text: str
    citations: tuple[Citation, ...] = ()  # offsets are from the start of the whole answer


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What the checks found and changed in an answer."""

    unknown_ids: int = 0  # dropped markers that name no passage
    malformed_markers: int = 0
    quotes_exact: int = 0
    quotes_repaired: int = 0  # replaced by the nearest exact span
    quotes_removed: int = 0  # quotation marks removed, because no passage has anything similar
    is_cut_off: bool = False  # the answer was cut at the maximum length


@dataclass(frozen=True, slots=True)
class StatedValue:
    """A number or date as one passage states it."""

    text: str
    evidence_id: str
    start: int  # in the document's text
    end: int
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """`conflict`: passages disagree about a value. `unsupported_value`: a number or date is in none
    of the cited passages. `quote_removed`: a quote that no passage contains. `uncited`: a sentence
    without a citation."""

    kind: Literal["conflict", "unsupported_value", "quote_removed", "uncited"]
    message: str
    values: tuple[StatedValue, ...] = ()
    answer_start: int | None = None
    answer_end: int | None = None


@dataclass(frozen=True, slots=True)
class AnswerSentence:
    start: int  # in the answer
    end: int
    citation_ids: tuple[str, ...]
    support: float | None  # 0…1 by words and meaning; a weak measure, not faithfulness


@dataclass(frozen=True, slots=True)
class Verification:
    """As in ALCE: recall is the fraction of sentences supported by their citations, precision the
    fraction of citations that are needed for that."""

    citation_recall: float | None
    citation_precision: float | None
    verifier: str


@dataclass(frozen=True, slots=True)
class AnswerResult:
    text: str
    question: str  # standalone, as searched for
    is_answered: bool  # False: there was not enough information, and `text` says so
    grounded: bool  # every sentence cites, every quote is exact, every value is in a cited passage
    missing: str  # what would be needed to answer; blank if it was answered
    evidence: tuple[Evidence, ...]
    citations: tuple[Citation, ...]
    sentences: tuple[AnswerSentence, ...]
    uncertainties: tuple[Uncertainty, ...]
    report: CheckReport
    model: str  # the alias of the model; "none" if no model was called
    usage: Usage
    cost: float | None
    finish: str
    searches: tuple[str, ...]  # the queries, in order
    fallbacks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    times_ms: Mapping[str, float] = field(default_factory=dict)
    verification: Verification | None = None
    query_id: uuid.UUID | None = None
    search_diagnostics: Any = None  # retrieval.requests.Diagnostics of the search that was used
    search_cache: str = "miss"
    relevance: float | None = None


@dataclass(frozen=True, slots=True)
class PromptPreview:
    """The prompt that would be sent to the model."""

    model: str
    messages: tuple[Message, ...]
    evidence: tuple[Evidence, ...]
    tokens: int  # an estimate
    template: str  # where the template was read from


# The events of an answer, in order: one SourcesEvent (and another if a second search found more,
# before any text), any number of TextEvent, one AnswerEvent.
@dataclass(frozen=True, slots=True)
class SourcesEvent:
    """All passages that the answer may cite. A later event replaces an earlier one; ids do not
    change."""

    question: str
    evidence: tuple[Evidence, ...]
    query_id: uuid.UUID | None = None


@dataclass(frozen=True, slots=True)
class TextEvent:
    """The concatenated texts of these events are the final answer's text."""

    checked: CheckedText


@dataclass(frozen=True, slots=True)
class AnswerEvent:
    result: AnswerResult


Event = SourcesEvent | TextEvent | AnswerEvent
