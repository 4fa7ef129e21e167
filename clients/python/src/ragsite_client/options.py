"""What the API is asked, as typed dictionaries."""
from __future__ import annotations

# Made by generate.py, not by hand. Schema 993cfc2550f8248c.

from typing import Any, Literal, NotRequired, TypedDict


class Threshold(TypedDict):
    """
    Minimum final score, or minimum scores by stage: `{"vector": 0.3, "fused": 0.2}`. Stages: vector, lexical, fused, rerank, final.
    """

    vector: NotRequired[float]
    lexical: NotRequired[float]
    fused: NotRequired[float]
    rerank: NotRequired[float]
    final: NotRequired[float]


class IncludeFacts(TypedDict):
    """
    Put facts from memory among the passages: true, or an object that says which (subjects, predicates, tags, user, as_of, known_at). `filters` are for passages alone.
    """

    subjects: NotRequired[list[str]]
    predicates: NotRequired[list[str]]
    tags: NotRequired[list[str]]
    user: NotRequired[str | None]
    as_of: NotRequired[str | None]
    known_at: NotRequired[str | None]


class Chunking(TypedDict):
    method: NotRequired[Literal["structure", "fixed", "semantic", "llm"]]
    size: NotRequired[int]
    """
    Size of a chunk in tokens of the embedding model, or in characters with the fixed method.
    """
    overlap: NotRequired[int]
    """
    How much of the previous chunk is repeated, in the same unit; less than half the size.
    """


class FactSelection(TypedDict):
    ids: NotRequired[list[str]]
    subject: NotRequired[str]
    """
    All facts about it, and all that have it as their object.
    """
    user: NotRequired[str]
    """
    All facts in this user's memory.
    """
    source_uri: NotRequired[str]


class Tags(TypedDict):
    """
    Documents with any of these tags; as an object: with any, all or none of them.
    """

    any: NotRequired[list[str]]
    all: NotRequired[list[str]]
    none: NotRequired[list[str]]


class Filters(TypedDict):
    tags: NotRequired[list[str] | Tags]
    """
    Documents with any of these tags; as an object: with any, all or none of them.
    """
    document_ids: NotRequired[list[str]]
    collection: NotRequired[str | list[str]]
    """
    Documents in any of these collections, each by name or id.
    """
    source_types: NotRequired[list[str]]
    date_range: NotRequired[list[str | None]]
    """
    By the date in a document's metadata, else that of its upload.
    """
    language: NotRequired[list[str]]
    """
    Documents in any of these languages.
    """
    kind: NotRequired[list[Literal["text", "code", "table", "image"]]]
    """
    Only passages of these kinds.
    """
    include_conversations: NotRequired[bool]
    """
    Search conversations, too. Without it they are searched only if the filters name them: by source type, document, collection, session or user.
    """
    metadata: NotRequired[dict[str, Any]]
    """
    Keys and values the document must have, or operators: `{"year": {"$gte": 2020}, "author.name": {"$in": ["Ada"]}, "$not": {"draft": true}}`. There are `$eq $ne $in $nin $gt $gte $lt $lte $exists` and `$and $or $not`.
    """


class TextDocument(TypedDict):
    title: NotRequired[str]
    source_uri: NotRequired[str]
    """
    The identity of the document: another upload with the same source is a new version.
    """
    tags: NotRequired[list[str] | str]
    metadata: NotRequired[dict[str, Any]]
    collection: NotRequired[str]
    """
    Name of the collection to add it to, which is created if necessary.
    """
    rows_as_facts: NotRequired[bool]
    """
    Store the rows of a CSV, TSV or XLSX file as facts. If omitted, unchanged; false for a new document.
    """
    chunking: NotRequired[Chunking]
    """
    How to chunk the document, instead of by the index profile's settings, e.g. {"method": "structure", "size": 300, "overlap": 50}. If omitted, as requested before; {} restores the profile's settings. Sizes that the namespace's embedding model cannot read are rejected (invalid_chunking).
    """
    content: NotRequired[str]
    content_base64: NotRequired[str]
    """
    Bytes instead of text: a PDF, or text in another encoding.
    """
    media_type: NotRequired[str]
    encoding: NotRequired[str]
    """
    Encoding of the file's text, e.g. windows-1252; detected if omitted.
    """


class NewTurn(TypedDict):
    session: NotRequired[str]
    """
    The client's name of the conversation.
    """
    role: str
    """
    Such as user or assistant.
    """
    content: str
    """
    The text of the turn, stored verbatim.
    """
    at: NotRequired[str]
    """
    Time of the turn; default: now. A bare date means its midnight.
    """
    user: NotRequired[str]
    """
    The user of the conversation.
    """
    speaker: NotRequired[str]
    """
    Name of the speaker; default: the role.
    """
    id: NotRequired[str]
    """
    The client's own id. The same id again is the same turn, and replaces it if it differs.
    """


class FactChanges(TypedDict):
    certainty: NotRequired[float]
    tags: NotRequired[list[str]]
    source_uri: NotRequired[str]
    valid_from: NotRequired[str | None]
    """
    null: it was always true.
    """
    valid_to: NotRequired[str | None]
    """
    null: open again.
    """


class ProposingOptions(TypedDict):
    document_id: NotRequired[str]
    """
    Its first 20,000 characters are read.
    """
    model: NotRequired[str]
    """
    A language model's alias; default as in /answer.
    """
    user: NotRequired[str]
    source_uri: NotRequired[str]
    """
    Source of the text. A document has its own.
    """


class NewFact(TypedDict):
    subject: str
    predicate: str
    """
    Such as `works at` or `works_at`.
    """
    object: Any
    """
    Any JSON value.
    """
    certainty: NotRequired[float]
    user: NotRequired[str]
    """
    The user whose memory it belongs to.
    """
    tags: NotRequired[list[str]]
    source_uri: NotRequired[str]
    """
    Source of the statement.
    """
    valid_from: NotRequired[str | None]
    """
    Start of its validity. Default: now; null: it was always true.
    """
    valid_to: NotRequired[str | None]
    """
    End of its validity; null: open.
    """
    turn_id: NotRequired[str | None]
    """
    The turn of a conversation (`/memories`) that says it. `user` and `valid_from`, where they are left out, are the turn's.
    """
    statement_id: NotRequired[str]
    """
    Your own id of this statement: sent again, it changes nothing.
    """


class Weights(TypedDict):
    semantic: float
    lexical: float


class FactOptions(TypedDict):
    subjects: NotRequired[list[str]]
    """
    Facts about any of these subjects, in any form of the name.
    """
    predicates: NotRequired[list[str]]
    """
    Facts with any of these predicates, in any form of the name.
    """
    tags: NotRequired[list[str]]
    """
    Facts with all of these tags.
    """
    user: NotRequired[str | None]
    """
    Facts of this user and those of no particular user. Default: of all users.
    """
    as_of: NotRequired[str | None]
    """
    Facts that were true at this moment; ISO 8601, or `now`. Default: now.
    """
    known_at: NotRequired[str | None]
    """
    Facts as known at this moment; without `as_of`, those that were also true then.
    """
    k: NotRequired[int]
    mode: NotRequired[Literal["hybrid", "semantic", "lexical"]]
    min_relevance: NotRequired[float]
    """
    Default: unrelated facts are left out; 0: they are included.
    """
    explain: NotRequired[bool]
    """
    Return the factors of each score.
    """


class FeedbackOptions(TypedDict):
    query_id: NotRequired[str | None]
    """
    From the response of `POST /query`.
    """
    query: NotRequired[str | None]
    """
    Instead of query_id: the question itself.
    """
    filters: NotRequired[Filters]
    """
    With `query`: the filters of that query.
    """
    selected_chunk_ids: NotRequired[list[str]]
    """
    The chunk_id of results that were clicked on, copied or cited.
    """
    useful: NotRequired[bool | None]
    comment: NotRequired[str]


class MemoryOptions(TypedDict):
    k: NotRequired[int]
    mode: NotRequired[Literal["hybrid", "semantic", "lexical"]]
    fusion: NotRequired[Literal["weighted", "rrf"]]
    """
    `weighted`: a sum of both scores, each scaled to 0…1 over the candidates. `rrf`: by ranks alone.
    """
    weights: NotRequired[Weights]
    """
    Weights of the legs for fusion `weighted`; equal by default.
    """
    rrf_k: NotRequired[int]
    """
    The constant of fusion `rrf`.
    """
    min_relevance: NotRequired[float]
    """
    Leave out passages with a lower `relevance`.
    """
    threshold: NotRequired[float | Threshold | None]
    """
    Minimum final score, or minimum scores by stage: `{"vector": 0.3, "fused": 0.2}`. Stages: vector, lexical, fused, rerank, final.
    """
    rerank: NotRequired[
        Literal["auto", "none", "cosine", "cross-encoder", "remote", "llm", "learned"]
    ]
    """
    `auto` decides by the question, if a reranker is configured.
    """
    fast: NotRequired[bool]
    """
    Prefer speed to quality: `auto` never reranks.
    """
    max_per_document: NotRequired[int | None]
    """
    Maximum number of passages per document, even if that leaves fewer than k. By default several documents are preferred, as long as there are k results.
    """
    mmr_lambda: NotRequired[float]
    """
    Below 1, passages that differ from earlier ones are preferred (MMR).
    """
    expand: NotRequired[Literal["none", "section"]]
    """
    `section`: each passage is the whole section around the hit, if not too long.
    """
    highlight: NotRequired[bool]
    """
    Return the positions of the question's words in each passage.
    """
    token_budget: NotRequired[int | None]
    """
    Tokens of all passages together; without it SEARCH_CONVERSATION_TOKEN_BUDGET.
    """
    context_format: NotRequired[Literal["plain", "source_documents"]]
    """
    Format of `context.text`. `plain`: numbered passages. `source_documents`: Markdown with a heading for each passage, and citation instructions at the end.
    """
    include_facts: NotRequired[bool | IncludeFacts]
    """
    Put facts from memory among the passages: true, or an object that says which (subjects, predicates, tags, user, as_of, known_at). `filters` are for passages alone.
    """
    feedback_boost: NotRequired[bool]
    """
    Let feedback on similar questions move passages a little (docs/feedback.md).
    """
    explain: NotRequired[bool]
    """
    List every candidate with its scores and the reason if it was dropped.
    """
    session: NotRequired[str]
    """
    Only this session.
    """
    user: NotRequired[str]
    """
    Only conversations of this user.
    """
    roles: NotRequired[list[str]]
    """
    Only passages in which one of these roles speaks.
    """
    speakers: NotRequired[list[str]]
    """
    Only passages in which one of these speaks, by name.
    """
    around: NotRequired[int | None]
    """
    Turns to show before and after the turns that were found, of the same day. Left out: as many as the token budget has room for.
    """
    date_range: NotRequired[list[str | None]]
    """
    Only passages with a turn from this time: [from, to].
    """


class Message(TypedDict):
    role: Literal["user", "assistant"]
    content: str


class QueryOptions(TypedDict):
    k: NotRequired[int]
    filters: NotRequired[Filters]
    mode: NotRequired[Literal["hybrid", "semantic", "lexical"]]
    fusion: NotRequired[Literal["weighted", "rrf"]]
    """
    `weighted`: a sum of both scores, each scaled to 0…1 over the candidates. `rrf`: by ranks alone.
    """
    weights: NotRequired[Weights]
    """
    Weights of the legs for fusion `weighted`; equal by default.
    """
    rrf_k: NotRequired[int]
    """
    The constant of fusion `rrf`.
    """
    min_relevance: NotRequired[float]
    """
    Leave out passages with a lower `relevance`.
    """
    threshold: NotRequired[float | Threshold | None]
    """
    Minimum final score, or minimum scores by stage: `{"vector": 0.3, "fused": 0.2}`. Stages: vector, lexical, fused, rerank, final.
    """
    rerank: NotRequired[
        Literal["auto", "none", "cosine", "cross-encoder", "remote", "llm", "learned"]
    ]
    """
    `auto` decides by the question, if a reranker is configured.
    """
    fast: NotRequired[bool]
    """
    Prefer speed to quality: `auto` never reranks.
    """
    max_per_document: NotRequired[int | None]
    """
    Maximum number of passages per document, even if that leaves fewer than k. By default several documents are preferred, as long as there are k results.
    """
    mmr_lambda: NotRequired[float]
    """
    Below 1, passages that differ from earlier ones are preferred (MMR).
    """
    expand: NotRequired[Literal["none", "section"]]
    """
    `section`: each passage is the whole section around the hit, if not too long.
    """
    highlight: NotRequired[bool]
    """
    Return the positions of the question's words in each passage.
    """
    token_budget: NotRequired[int | None]
    context_format: NotRequired[Literal["plain", "source_documents"]]
    """
    Format of `context.text`. `plain`: numbered passages. `source_documents`: Markdown with a heading for each passage, and citation instructions at the end.
    """
    include_facts: NotRequired[bool | IncludeFacts]
    """
    Put facts from memory among the passages: true, or an object that says which (subjects, predicates, tags, user, as_of, known_at). `filters` are for passages alone.
    """
    feedback_boost: NotRequired[bool]
    """
    Let feedback on similar questions move passages a little (docs/feedback.md).
    """
    explain: NotRequired[bool]
    """
    List every candidate with its scores and the reason if it was dropped.
    """


class AnswerOptions(TypedDict):
    k: NotRequired[int]
    filters: NotRequired[Filters]
    mode: NotRequired[Literal["hybrid", "semantic", "lexical"]]
    fusion: NotRequired[Literal["weighted", "rrf"]]
    """
    `weighted`: a sum of both scores, each scaled to 0…1 over the candidates. `rrf`: by ranks alone.
    """
    weights: NotRequired[Weights]
    """
    Weights of the legs for fusion `weighted`; equal by default.
    """
    rrf_k: NotRequired[int]
    """
    The constant of fusion `rrf`.
    """
    min_relevance: NotRequired[float]
    """
    Leave out passages with a lower `relevance`.
    """
    threshold: NotRequired[float | Threshold | None]
    """
    Minimum final score, or minimum scores by stage: `{"vector": 0.3, "fused": 0.2}`. Stages: vector, lexical, fused, rerank, final.
    """
    rerank: NotRequired[
        Literal["auto", "none", "cosine", "cross-encoder", "remote", "llm", "learned"]
    ]
    """
    `auto` decides by the question, if a reranker is configured.
    """
    fast: NotRequired[bool]
    """
    Prefer speed to quality: `auto` never reranks.
    """
    max_per_document: NotRequired[int | None]
    """
    Maximum number of passages per document, even if that leaves fewer than k. By default several documents are preferred, as long as there are k results.
    """
    mmr_lambda: NotRequired[float]
    """
    Below 1, passages that differ from earlier ones are preferred (MMR).
    """
    expand: NotRequired[Literal["none", "section"]]
    """
    `section`: each passage is the whole section around the hit, if not too long.
    """
    highlight: NotRequired[bool]
    """
    Return the positions of the question's words in each passage.
    """
    token_budget: NotRequired[int | None]
    context_format: NotRequired[Literal["plain", "source_documents"]]
    """
    Format of `context.text`. `plain`: numbered passages. `source_documents`: Markdown with a heading for each passage, and citation instructions at the end.
    """
    include_facts: NotRequired[bool | IncludeFacts]
    """
    Put facts from memory among the passages: true, or an object that says which (subjects, predicates, tags, user, as_of, known_at). `filters` are for passages alone.
    """
    feedback_boost: NotRequired[bool]
    """
    Let feedback on similar questions move passages a little (docs/feedback.md).
    """
    explain: NotRequired[bool]
    """
    List every candidate with its scores and the reason if it was dropped.
    """
    messages: NotRequired[list[Message]]
    """
    The conversation so far, oldest first. A follow-up question is made standalone before it is searched for. At most 100,000 characters together.
    """
    model: NotRequired[str]
    """
    An alias of the installation's language models; `extractive` needs none. Default: the namespace's, else the installation's.
    """
    temperature: NotRequired[float | None]
    """
    null: the model's default.
    """
    max_tokens: NotRequired[int | None]
    stop: NotRequired[list[str]]
    """
    Strings at which the model stops.
    """
    instructions: NotRequired[str]
    """
    Style or form, such as `Answer in one sentence`. Cannot override the rules for answers.
    """
    verify: NotRequired[bool]
    """
    Let the configured verifier check each citation afterwards.
    """
    expand_query: NotRequired[Literal["none", "multi-query", "hyde", "step-back"]]
    """
    Let the language model rephrase the question for the search.
    """
