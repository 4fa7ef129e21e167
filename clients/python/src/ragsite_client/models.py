"""What the API answers. Fields that a newer server adds are kept."""
from __future__ import annotations

# Made by generate.py, not by hand. Schema b74325173422abae.

from pydantic import BaseModel, ConfigDict
from datetime import datetime
from typing import Any


class AnswerSentence(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    start: int
    """
    In `answer`, in code points.
    """
    end: int
    citation_ids: list[str]
    support: float | None
    """
    0…1: how near it is, by words and meaning, to what it cites. A weak judge of truth.
    """


class AnswerUsage(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    is_estimated: bool
    """
    The provider gave no figures.
    """
    cost: float | None
    """
    null where no price is set.
    """


class Checks(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    unknown_ids: int
    """
    Markers dropped: they name no passage.
    """
    malformed_markers: int
    quotes_exact: int
    quotes_repaired: int
    """
    Replaced by the nearest exact text.
    """
    quotes_removed: int
    """
    Nothing like it is written.
    """
    is_cut_off: bool
    """
    The writer did not stop: the answer ends at the longest allowed.
    """


class Collection(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    name: str | None
    description: str
    metadata: dict[str, str]
    documents_count: int
    expires_after_days: int | None
    expires_at: datetime | None
    last_active_at: datetime
    created_at: datetime


class Context(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    text: str
    tokens: int


class Dropped(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    chunk_id: str
    reason: str


class Failure(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    code: str
    message: str


class Heading(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    level: int
    title: str
    start: int
    end: int


class LanguageModelUsage(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    model: str
    """
    Provider and model.
    """
    calls: int | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float
    """
    In the operator's currency; 0 without prices.
    """


class Normalised(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    vector: float | None
    lexical: float | None


class Page(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    number: int
    start: int
    end: int
    ocr_confidence: float | None = None
    """
    From 0 to 1, where the page was read from a picture; null where it has text.
    """


class QueryTerm(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    term: str
    weight: float
    """
    Its inverse document frequency.
    """
    chunks: int
    """
    How many chunks hold it, when last counted.
    """


class Quota(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    used: int
    quota: int | None
    """
    null: no quota.
    """


class Ranks(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    vector: int | None
    lexical: int | None
    fused: int
    rerank: int | None


class Rejection(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    code: str
    message: str
    details: dict[str, Any] | None = None
    """
    Of quota_exceeded: which quota, its limit, what is used and what was asked for.
    """


class Removal(BaseModel):
    """
    A receipt: what was removed.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    document_id: str
    source_uri: str
    versions: int
    chunks: int
    facts: int
    jobs: int
    files: int
    files_left: list[str]


class Scores(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    vector: float | None
    """
    Cosine similarity.
    """
    lexical: float | None
    """
    BM25.
    """
    fused: float
    rerank: float | None
    final: float


class Span(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    start: int
    """
    First code point, in the version's text.
    """
    end: int
    """
    One past the last code point.
    """


class StatedValue(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    text: str
    source_id: str
    document_id: str | None
    span: Span
    as_of: datetime | None


class Term(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    term: str
    score: float
    """
    What the word adds to the BM25 score.
    """


class Text(BaseModel):
    """
    The text that spans point into.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    document_id: str
    version: int
    text: str
    pages: list[Page]
    headings: list[Heading]


class Uncertainty(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    kind: str
    """
    `conflict`: passages disagree about a value. `unsupported_value`: a number or date of the answer stands in none of the passages it cites. `quote_removed`: a quote that nobody wrote. `uncited`: a sentence without a citation.
    """
    message: str
    values: list[StatedValue]
    answer_span: Span | None
    """
    In `answer`, in code points.
    """


class Usage(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    namespace: str
    documents: Quota
    bytes: Quota
    """
    Of the stored originals of all versions.
    """
    chunks: Quota
    """
    That can be found now.
    """
    language_models: list[LanguageModelUsage]
    """
    What they took in this calendar month (UTC).
    """
    rate_limits: dict[str, int | None]
    """
    Requests a minute of this key by class of route; null: no limit.
    """


class Verification(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    citation_recall: float | None
    citation_precision: float | None
    verifier: str


class AnswerCitation(BaseModel):
    """
    `cited_text` equals the text of the document's version (`GET /documents/{id}/text`) from
    `start_char_index` to `end_char_index`. All offsets count code points.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    type: str
    id: str
    """
    As in the marker [cite:ID], and in `sources`.
    """
    cited_text: str
    document_index: int | None
    """
    Which of `sources`, counted from 0.
    """
    document_title: str
    start_char_index: int
    """
    First code point.
    """
    end_char_index: int
    """
    One past the last code point.
    """
    start_page_number: int | None
    """
    Counted from 1; null where there are no pages.
    """
    end_page_number: int | None
    """
    One past the last page, as with Anthropic's page_location.
    """
    document_id: str
    document_version: int
    chunk_id: str
    section: str
    source_uri: str
    checksum: str
    """
    SHA-256 of `cited_text` in UTF-8.
    """
    answer_span: Span
    """
    What it supports, in `answer`: the claim before the marker. Code points.
    """
    is_quote: bool
    """
    The answer repeats `cited_text` between quotation marks.
    """
    supported: bool | None
    """
    The verifier's word; null where none was asked.
    """


class Candidate(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    chunk_id: str
    document_id: str
    relevance: float | None
    scores: Scores
    normalised: Normalised
    """
    0…1 among the candidates.
    """
    support: float | None
    """
    What the candidates most like it are worth; null if unasked.
    """
    ranks: Ranks
    terms: list[Term]
    dropped: str
    """
    Why it is not among the results; blank if it is.
    """


class Chunking(BaseModel):
    """
    What is left out is as in the namespace's index profile.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    method: str | None = None
    size: int | None = None
    """
    Of a chunk: tokens of the embedding model; characters with the fixed method.
    """
    overlap: int | None = None
    """
    Repeated from the chunk before, in the same unit; less than half the size.
    """


class Citation(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: int
    """
    The number in the context: [1], [2], …
    """
    chunk_id: str
    document_id: str
    source_uri: str
    section: str
    page: int | None
    span: Span
    checksum: str
    """
    SHA-256 of the cited text.
    """


class Diagnostics(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    profile: str
    mode: str
    fusion: str
    ann_k: int
    """
    Candidates of the vector leg.
    """
    lexical_k: int
    """
    Candidates of the lexical leg.
    """
    dense_plan: str
    reranker: str
    fallbacks: list[str]
    """
    Parts that did not work, and what served instead.
    """
    notes: list[str]
    """
    Why a question could not be answered as asked.
    """
    cache: str
    times_ms: dict[str, float]
    dropped: list[Dropped]
    filters: Any | None = None
    """
    With `explain`: as understood.
    """
    terms: list[QueryTerm] | None = None
    """
    With `explain`: the question's words.
    """
    candidates: list[Candidate] | None = None
    """
    With `explain`.
    """


class Document(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    status: str
    error: Failure | None
    title: str
    source_uri: str
    source_type: str
    media_type: str
    byte_size: int
    content_sha256: str
    version: int
    """
    The newest version.
    """
    live_version: int | None
    """
    The version that search sees; null before the first is ready.
    """
    tags: list[str]
    metadata: Any
    language: str
    dated_at: datetime
    chunks_count: int
    tokens_count: int
    embedding_model: str
    embedding_dim: int | None
    ingestion_version: int | None
    chunking: Chunking | None
    """
    How its uploads asked for it to be cut; null where the index profile decides.
    """
    created_at: datetime
    updated_at: datetime


class Hit(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    chunk_id: str
    document_id: str
    document_version: int
    title: str
    source_uri: str
    section: str
    page: int | None
    page_end: int | None
    """
    The last page it stands on; that of `page` for most.
    """
    ordinal: int
    """
    Of the chunk in its document, from 0.
    """
    span: Span
    kind: str
    mime: str
    """
    The document's media type.
    """
    created_at: datetime
    """
    When the document first came in.
    """
    collection: str | None
    """
    The `collection` of the document's metadata, where that is a string; else the first of `collections`.
    """
    collections: list[str]
    """
    The collections that the document is in: names, or ids of those without one.
    """
    content: str
    relevance: float | None
    """
    How likely it answers the question, 0…1, comparable between questions; null where there is nothing to judge by (another embedding model in mode `semantic`).
    """
    scores: Scores
    ranks: Ranks
    highlights: list[Span]
    """
    Words that matched, as spans of the document's text like `span`.
    """
    merged_chunk_ids: list[str]
    """
    Neighbours that became one passage with it.
    """
    metadata: Any
    """
    The document's. Each of its keys can be used in `filters.metadata`.
    """
    chunk_metadata: Any
    """
    The passage's own: its headings, its link, where its words lie on the page.
    """
    tags: list[str]


class Job(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    document_id: str
    state: str
    stage: str
    attempts: int
    max_attempts: int
    passages_done: int
    passages_total: int
    times_ms: dict[str, float]
    embedding_tokens: int
    embedding_cost: str
    error: Failure | None
    request_id: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class QueryAnswer(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    query_id: str | None
    """
    Of this request, for `POST /feedback`; null where no query log is kept.
    """
    query: str
    relevance: float | None
    """
    Of the best result; 0 without results.
    """
    results: list[Hit]
    context: Context
    citations: list[Citation]
    diagnostics: Diagnostics


class Result(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    index: int
    """
    The item's place in the request, from 0.
    """
    source_uri: str | None
    """
    What the document is known by; of a duplicate, the first one's.
    """
    document_id: str | None
    job_id: str | None
    status: str
    duplicate: bool
    """
    These bytes were here already.
    """
    updated: bool
    """
    Of known bytes: their title, tags or metadata became those sent with them.
    """
    version: int | None
    chunks_count: int
    tokens_estimate: int
    warnings: list[str]
    """
    About the request, then what the version's reading and indexing left to say.
    """
    error: Rejection | None


class SelectedPassage(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    chunk_id: str
    document_id: str
    source_uri: str
    span: Span
    quote: str
    """
    The chunk's text; finds it in later versions.
    """


class Source(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    """
    As in the marker [cite:ID]. Valid in this answer only.
    """
    document_id: str
    document_version: int
    chunk_id: str
    title: str
    source_uri: str
    section: str
    page: int | None
    page_end: int | None
    """
    The last page, inclusive.
    """
    span: Span
    content: str
    """
    The passage.
    """
    checksum: str
    """
    SHA-256 of the passage.
    """
    relevance: float | None
    kind: str
    as_of: datetime | None
    """
    The date the document gives itself.
    """
    cited: bool | None
    """
    null in the event `sources`: not known yet.
    """


class AnswerDiagnostics(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    searches: list[str]
    """
    What was searched for, in order.
    """
    fallbacks: list[str]
    notes: list[str]
    finish: str
    """
    `stop`, `length`, `refused` or `unknown`.
    """
    times_ms: dict[str, float]
    checks: Checks
    cache: str
    """
    Whether the search came from the cache.
    """
    search: Diagnostics | None
    """
    Of the search that was used.
    """


class Feedback(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    query_id: str | None
    """
    Null without one, and once the query log is swept.
    """
    query: str
    filters: Any
    selected_chunk_ids: list[str]
    selected: list[SelectedPassage]
    """
    The selected chunks by document and place; not those of deleted documents.
    """
    useful: bool | None
    """
    ?: nobody said.
    """
    comment: str
    request_id: str
    created_at: datetime


class IngestAnswer(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    failed: int
    """
    Items that were refused or could not be read.
    """
    error: Failure | None
    """
    Of the first item that failed, in a sentence.
    """
    warnings: list[str]
    """
    About the request as a whole.
    """
    namespace: str
    indexed: int
    """
    Items that are searchable now.
    """
    results: list[Result]


class Answer(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    query_id: str | None
    """
    For `POST /feedback`; null where no query log is kept.
    """
    query: str
    """
    As it was asked.
    """
    question: str
    """
    Standalone, as it was searched for.
    """
    answer: str
    """
    With markers [cite:ID] after each claim. All spans of the answer count its code points, markers included.
    """
    is_answered: bool
    """
    false: there was not enough information, and `answer` says so.
    """
    grounded: bool
    """
    Every sentence cites, every quote is exact, every number and date stands in what it cites.
    """
    missing: str
    """
    What would be needed; blank if it was answered.
    """
    relevance: float | None
    """
    Of the best passage.
    """
    citations: list[AnswerCitation]
    sources: list[Source]
    sentences: list[AnswerSentence]
    uncertainties: list[Uncertainty]
    model: str
    """
    Who wrote it; `none` if nobody was asked.
    """
    usage: AnswerUsage
    verification: Verification | None = None
    """
    With `verify`.
    """
    diagnostics: AnswerDiagnostics
