"""What the API answers. Fields that a newer server adds are kept."""
from __future__ import annotations

# Made by generate.py, not by hand. Schema cf7a138f8b5a5bb5.

from pydantic import BaseModel, ConfigDict
from datetime import datetime
from typing import Any


class AnswerSentence(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    start: int
    """
    Position in `answer`, in code points.
    """
    end: int
    citation_ids: list[str]
    support: float | None
    """
    0…1: similarity of words and meaning to the cited text. A weak indicator of truth.
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
    Whether the provider reported no figures.
    """
    cost: float | None
    """
    null without a price.
    """


class Checks(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    unknown_ids: int
    """
    Markers dropped because they name no passage.
    """
    malformed_markers: int
    quotes_exact: int
    quotes_repaired: int
    """
    Quotes replaced by the closest exact text.
    """
    quotes_removed: int
    """
    Quotes with no similar text in the passages.
    """
    is_cut_off: bool
    """
    Whether the answer was cut at the maximum length.
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


class DocumentWithRows(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    document_id: str
    title: str
    source_uri: str
    facts: int


class Dropped(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    chunk_id: str
    reason: str


class FactScore(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    fact_id: str
    score: float
    """
    relevance × certainty × decay
    """
    relevance: float
    certainty: float
    decay: float
    age_days: float
    """
    Since it was last verified.
    """
    half_life_days: float | None
    """
    null: it never ages.
    """
    vector: float | None
    """
    Cosine similarity.
    """
    lexical: float | None
    """
    Weight of the question's words that it contains.
    """


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
    OCR confidence from 0 to 1; null for a page with a text layer.
    """


class QueryTerm(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    term: str
    weight: float
    """
    Inverse document frequency.
    """
    chunks: int
    """
    Number of chunks with the word, when last counted.
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
    For quota_exceeded: the quota, its limit, what is used and what was requested.
    """


class Removal(BaseModel):
    """
    A receipt: what was deleted.
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


class RowsLeft(BaseModel):
    """
    Facts from rows of tables that also match. They are not erased, but deleted with their
    documents.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    facts: int
    documents: list[DocumentWithRows]
    """
    Documents to delete or replace; those with the most facts first, up to 100.
    """


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
    boost: float | None
    """
    The addition by feedback (`feedback_boost`); null: none.
    """
    final: float
    """
    `rerank`, else `fused`, plus `boost`.
    """


class Span(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    start: int
    """
    Index of the first code point in the version's text.
    """
    end: int
    """
    Index after the last code point.
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


class StatementShape(BaseModel):
    """
    A provenance: who stated the fact, when, and where it is written.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    kind: str
    """
    client, passage, turn, confirmation, correction; row, of a table's row.
    """
    stated_at: datetime
    certainty: float
    valid_from: datetime | None
    valid_to: datetime | None
    source_uri: str
    document_id: str | None
    version: int | None
    span: Span | None
    conversation_id: str | None
    turn_id: str | None


class Term(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    term: str
    score: float
    """
    The word's contribution to the BM25 score.
    """


class Text(BaseModel):
    """
    The text that spans refer to.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    document_id: str
    version: int
    text: str
    pages: list[Page]
    headings: list[Heading]


class Turn(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    session: str
    user: str
    role: str
    speaker: str
    """
    The speaker's name, or else the role.
    """
    content: str
    at: datetime
    external_id: str
    """
    The client's own id; blank if it gave none.
    """
    document_id: str
    created_at: datetime


class TurnErasure(BaseModel):
    """
    A receipt: what was deleted, without its content.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    turns: int
    conversations: int
    """
    Days that have no turns left.
    """
    chunks: int
    job_id: str | None
    """
    The jobs that index the rest of the conversation.
    """


class Uncertainty(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    kind: str
    """
    `conflict`: passages disagree about a value. `unsupported_value`: a number or date in the answer is in none of the passages it cites. `quote_removed`: a quote that is in no passage. `uncited`: a sentence without a citation.
    """
    message: str
    values: list[StatedValue]
    answer_span: Span | None
    """
    Position in `answer`, in code points.
    """


class Usage(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    namespace: str
    documents: Quota
    bytes: Quota
    """
    Size of the stored originals of all versions.
    """
    chunks: Quota
    """
    Chunks that can be found now.
    """
    language_models: list[LanguageModelUsage]
    """
    Tokens used in this calendar month (UTC).
    """
    rate_limits: dict[str, int | None]
    """
    Requests per minute of this key, by class of route; null: no limit.
    """


class Verification(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    citation_recall: float | None
    citation_precision: float | None
    verifier: str


class Vote(BaseModel):
    """
    A piece of feedback that moves the candidate.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    feedback_id: str
    similarity: float
    """
    Similarity of its question to this one; 1: the same question.
    """
    age_days: float
    value: float
    """
    1: useful, 0.5: selected, -1: not useful.
    """
    strength: float
    """
    Its weight.
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
    Scaled to 0…1 over the candidates.
    """
    support: float | None
    """
    Mean score of the most similar candidates; null if not used.
    """
    votes: list[Vote]
    """
    The votes behind `scores.boost`.
    """
    ranks: Ranks
    terms: list[Term]
    dropped: str
    """
    The reason if it is not among the results; otherwise blank.
    """


class Chunking(BaseModel):
    """
    Omitted options are those of the namespace's index profile.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    method: str | None = None
    size: int | None = None
    """
    Size of a chunk in tokens of the embedding model, or in characters with the fixed method.
    """
    overlap: int | None = None
    """
    How much of the previous chunk is repeated, in the same unit; less than half the size.
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
    Number of candidates from the vector leg.
    """
    lexical_k: int
    """
    Number of candidates from the lexical leg.
    """
    dense_plan: str
    reranker: str
    fallbacks: list[str]
    """
    Parts that failed, and what was used instead.
    """
    notes: list[str]
    """
    Notes on parts of the request that could not be followed.
    """
    cache: str
    times_ms: dict[str, float]
    dropped: list[Dropped]
    filters: Any | None = None
    """
    With `explain`: the question as interpreted.
    """
    terms: list[QueryTerm] | None = None
    """
    With `explain`: the question's words.
    """
    candidates: list[Candidate] | None = None
    """
    With `explain`.
    """
    facts: list[FactScore] | None = None
    """
    With `explain` and `include_facts`.
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
    The version that searches use; null before the first is ready.
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
    The chunking options of its uploads; null if the index profile decides.
    """
    created_at: datetime
    updated_at: datetime


class Erased(BaseModel):
    """
    The receipt, and the facts that are left in tables, which are not stored with the receipt.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    selected_by: str
    facts: int
    statements: int
    vectors: int
    past_states: int
    queries: int
    created_at: datetime
    left_in_tables: RowsLeft


class FactPlace(BaseModel):
    """
    Where a fact comes from.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    kind: str
    stated_at: datetime
    source_uri: str
    document_id: str | None
    version: int | None
    span: Span | None
    turn_id: str | None


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


class Provenance(BaseModel):
    """
    Position of the source: `text[start:end]` of that version's text.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    document_id: str
    version: int
    span: Span
    source_uri: str


class Result(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    index: int
    """
    The item's index in the request, from 0.
    """
    source_uri: str | None
    """
    The identity of the document; for a duplicate, that of the first one.
    """
    document_id: str | None
    job_id: str | None
    status: str
    duplicate: bool
    """
    The same bytes already exist.
    """
    updated: bool
    """
    For existing bytes: title, tags or metadata were replaced by those of the request.
    """
    version: int | None
    chunks_count: int
    tokens_estimate: int
    warnings: list[str]
    """
    Warnings about the request, then those from reading and indexing the version.
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
    The chunk's text, by which it is found in later versions.
    """


class TurnReceipt(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    turn_id: str
    status: str
    session: str
    at: datetime
    document_id: str
    """
    The document in which the turn is indexed.
    """
    job_id: str | None


class AnswerDiagnostics(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    searches: list[str]
    """
    The searches, in order.
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
    Timings of the search that was used.
    """


class Fact(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    text: str
    """
    The fact as a sentence.
    """
    subject: str
    predicate: str
    object: Any
    certainty: float
    tags: list[str]
    user: str
    """
    The user whose memory it belongs to; blank: no particular user.
    """
    status: str
    """
    approved, proposed or rejected.
    """
    source: str
    """
    stated, row or model.
    """
    source_uri: str
    valid_from: datetime | None
    """
    Null: it was always true.
    """
    valid_to: datetime | None
    """
    End of its validity; null: open.
    """
    recorded_at: datetime
    retracted_at: datetime | None
    superseded_by: str | None
    """
    The fact that begins where this one was closed, that corrected it, or into which it was merged.
    """
    last_verified_at: datetime
    confirmations: int
    provenance: Provenance | None
    """
    The first place in a document that states it.
    """
    provenances: list[StatementShape]


class FactNote(BaseModel):
    """
    A fact from memory among the passages: its content, and how far it can be trusted.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    subject: str
    predicate: str
    object: Any
    user: str
    certainty: float
    decay: float
    """
    Factor for its age.
    """
    valid_from: datetime | None
    valid_to: datetime | None
    last_verified_at: datetime
    provenances: list[FactPlace]
    """
    The latest five statements.
    """


class Feedback(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    query_id: str | None
    """
    Null without one, and after the entry was deleted from the query log.
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
    Empty if the user did not say.
    """
    comment: str
    request_id: str
    created_at: datetime


class FoundFact(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    text: str
    """
    The fact as a sentence.
    """
    subject: str
    predicate: str
    object: Any
    certainty: float
    tags: list[str]
    user: str
    """
    The user whose memory it belongs to; blank: no particular user.
    """
    status: str
    """
    approved, proposed or rejected.
    """
    source: str
    """
    stated, row or model.
    """
    source_uri: str
    valid_from: datetime | None
    """
    Null: it was always true.
    """
    valid_to: datetime | None
    """
    End of its validity; null: open.
    """
    recorded_at: datetime
    retracted_at: datetime | None
    superseded_by: str | None
    """
    The fact that begins where this one was closed, that corrected it, or into which it was merged.
    """
    last_verified_at: datetime
    confirmations: int
    provenance: Provenance | None
    """
    The first place in a document that states it.
    """
    provenances: list[StatementShape]
    score: float
    relevance: float
    same_in_tables: list[str]
    """
    Identical facts from rows of tables.
    """
    explanation: FactScore | None = None
    """
    With `explain`.
    """


class History(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    results: list[Fact]


class Hit(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    chunk_id: str | None
    """
    null for a fact from memory.
    """
    document_id: str | None
    """
    null for a fact from memory.
    """
    document_version: int | None
    """
    null for a fact from memory.
    """
    title: str
    source_uri: str
    section: str
    page: int | None
    page_end: int | None
    """
    The last page of the passage; usually equal to `page`.
    """
    ordinal: int
    """
    The chunk's index in its document, from 0.
    """
    span: Span
    kind: str
    mime: str
    """
    The document's media type.
    """
    created_at: datetime
    """
    When the document was first uploaded.
    """
    collection: str | None
    """
    The `collection` in the document's metadata if that is a string; else the first of `collections`.
    """
    collections: list[str]
    """
    The collections of the document: names, or ids of those without a name.
    """
    content: str
    relevance: float | None
    """
    How likely the passage answers the question, 0…1, comparable between questions; null if unknown (with an embedding model other than the bundled one in mode `semantic`).
    """
    scores: Scores
    ranks: Ranks
    highlights: list[Span]
    """
    Matched words, as spans of the document's text like `span`.
    """
    merged_chunk_ids: list[str]
    """
    Neighbouring chunks merged into this passage.
    """
    metadata: Any
    """
    The document's metadata. Each key can be used in `filters.metadata`.
    """
    chunk_metadata: Any
    """
    Attributes of the passage: its headings, its link, its position on the page.
    """
    tags: list[str]
    fact: FactNote | None
    """
    Only for a fact from memory (`include_facts`); null for a passage.
    """


class IngestAnswer(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    failed: int
    """
    Items that were rejected or could not be read.
    """
    error: Failure | None
    """
    The message of the first item that failed.
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


class Remembered(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    added: int
    updated: int
    duplicates: int
    indexed: bool
    """
    Whether all turns are searchable now.
    """
    turns: list[TurnReceipt]
    """
    In the order of the request.
    """


class Source(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    """
    The id in the marker [cite:ID]. Valid only in this answer.
    """
    document_id: str | None
    """
    null for a fact from memory.
    """
    document_version: int | None
    """
    null for a fact from memory.
    """
    chunk_id: str | None
    """
    null for a fact from memory.
    """
    fact: FactNote | None
    """
    Only for a fact from memory (`include_facts`); null for a passage.
    """
    title: str
    source_uri: str
    section: str
    page: int | None
    page_end: int | None
    """
    The last page (inclusive).
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
    The date in the document's metadata.
    """
    cited: bool | None
    """
    null in the event `sources`, when it is not known yet.
    """


class Stated(BaseModel):
    """
    The result of a statement.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    outcome: str
    """
    `confirmed`: the fact existed and is more certain now. `known`: this statement was stored before.
    """
    closed: list[str]
    """
    Facts that this statement ended.
    """
    fact: Fact


class StatedList(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    results: list[Stated]


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
    The id in the marker [cite:ID], and in `sources`.
    """
    cited_text: str
    document_index: int | None
    """
    Index in `sources`, from 0.
    """
    document_title: str
    start_char_index: int
    """
    Index of the first code point.
    """
    end_char_index: int
    """
    Index after the last code point.
    """
    start_page_number: int | None
    """
    Counted from 1; null without pages.
    """
    end_page_number: int | None
    """
    The page after the last one, as in Anthropic's page_location.
    """
    document_id: str | None
    """
    null for a fact from memory.
    """
    document_version: int | None
    """
    null for a fact from memory.
    """
    chunk_id: str | None
    """
    null for a fact from memory.
    """
    fact: FactNote | None
    """
    Only for a fact from memory (`include_facts`); null for a passage.
    """
    section: str
    source_uri: str
    checksum: str
    """
    SHA-256 of `cited_text` in UTF-8.
    """
    answer_span: Span
    """
    The claim before the marker that it supports, in code points of `answer`.
    """
    is_quote: bool
    """
    The answer quotes `cited_text` in quotation marks.
    """
    supported: bool | None
    """
    The verifier's judgement; null without a verifier.
    """


class Citation(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: int
    """
    The passage's number in the context: [1], [2], …
    """
    chunk_id: str | None
    """
    null for a fact from memory.
    """
    document_id: str | None
    """
    null for a fact from memory.
    """
    document_version: int | None
    """
    null for a fact from memory.
    """
    source_uri: str
    section: str
    page: int | None
    span: Span
    checksum: str
    """
    SHA-256 of the cited text.
    """
    fact: FactNote | None
    """
    Only for a fact from memory (`include_facts`); null for a passage.
    """


class FactSearchResult(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    query: str
    results: list[FoundFact]
    fallbacks: list[str]


class Proposals(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    results: list[Stated]
    dropped: int
    """
    Number of items without an exact quote from the text.
    """


class QueryAnswer(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    query_id: str | None
    """
    Id of this request for `POST /feedback`; null without a query log.
    """
    query: str
    relevance: float | None
    """
    The relevance of the best result; 0 without results.
    """
    results: list[Hit]
    context: Context
    citations: list[Citation]
    diagnostics: Diagnostics


class Answer(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    query_id: str | None
    """
    Id for `POST /feedback`; null without a query log.
    """
    query: str
    """
    The question as asked.
    """
    question: str
    """
    The standalone question that was searched for.
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
    Whether every sentence has a citation, every quote is exact, and every number and date is in the cited passages.
    """
    missing: str
    """
    What information is missing; blank if answered.
    """
    relevance: float | None
    """
    The relevance of the best passage.
    """
    citations: list[AnswerCitation]
    sources: list[Source]
    sentences: list[AnswerSentence]
    uncertainties: list[Uncertainty]
    model: str
    """
    The writer; `none` if no writer was called.
    """
    usage: AnswerUsage
    verification: Verification | None = None
    """
    With `verify`.
    """
    diagnostics: AnswerDiagnostics
