"""What the API is asked, as typed dictionaries."""
from __future__ import annotations

# Made by generate.py, not by hand. Schema 7425d2ac6b0d12fc.

from typing import Any, Literal, NotRequired, TypedDict


class Threshold(TypedDict):
    """
    Lowest final score to return; or lowest scores by stage: `{"vector": 0.3, "fused": 0.2}`. Stages: vector, lexical, fused, rerank, final.
    """

    vector: NotRequired[float]
    lexical: NotRequired[float]
    fused: NotRequired[float]
    rerank: NotRequired[float]
    final: NotRequired[float]


class Chunking(TypedDict):
    method: NotRequired[Literal["structure", "fixed", "semantic", "llm"]]
    size: NotRequired[int]
    """
    Of a chunk: tokens of the embedding model; characters with the fixed method.
    """
    overlap: NotRequired[int]
    """
    Repeated from the chunk before, in the same unit; less than half the size.
    """


class Tags(TypedDict):
    """
    Documents with any of these tags; as an object: with any, all, none of them.
    """

    any: NotRequired[list[str]]
    all: NotRequired[list[str]]
    none: NotRequired[list[str]]


class Filters(TypedDict):
    tags: NotRequired[list[str] | Tags]
    """
    Documents with any of these tags; as an object: with any, all, none of them.
    """
    document_ids: NotRequired[list[str]]
    collection: NotRequired[str | list[str]]
    """
    Documents in any of these collections, each by its name or id.
    """
    source_types: NotRequired[list[str]]
    date_range: NotRequired[list[str | None]]
    """
    On the date a document gives itself, else when it came in.
    """
    language: NotRequired[list[str]]
    """
    Documents in any of these languages.
    """
    kind: NotRequired[list[Literal["text", "code", "table", "image"]]]
    """
    Only passages of these kinds.
    """
    metadata: NotRequired[dict[str, Any]]
    """
    Keys and values the document must have, or operators: `{"year": {"$gte": 2020}, "author.name": {"$in": ["Ada"]}, "$not": {"draft": true}}`. There are `$eq $ne $in $nin $gt $gte $lt $lte $exists` and `$and $or $not`.
    """


class TextDocument(TypedDict):
    title: NotRequired[str]
    source_uri: NotRequired[str]
    """
    What the document is known by: the same source again is a new version.
    """
    tags: NotRequired[list[str] | str]
    metadata: NotRequired[dict[str, Any]]
    collection: NotRequired[str]
    """
    Name of the collection to add it to; created if there is none.
    """
    rows_as_facts: NotRequired[bool]
    """
    Keep what the rows of a CSV, TSV or XLSX file say as facts. If left out, unchanged; false for a new document.
    """
    chunking: NotRequired[Chunking]
    """
    How the document is cut, in place of the index profile's settings, e.g. {"method": "structure", "size": 300, "overlap": 50}. If left out, as asked for before; {} is as the profile has it again. Sizes that the namespace's embedding model cannot read are refused (invalid_chunking).
    """
    content: NotRequired[str]
    content_base64: NotRequired[str]
    """
    Bytes in place of text: a PDF, or text in another encoding.
    """
    media_type: NotRequired[str]
    encoding: NotRequired[str]
    """
    Of the file's text, e.g. windows-1252; found out if left out.
    """


class Weights(TypedDict):
    semantic: float
    lexical: float


class FeedbackOptions(TypedDict):
    query_id: NotRequired[str | None]
    """
    As `POST /query` answered.
    """
    query: NotRequired[str | None]
    """
    Instead of query_id: the question itself.
    """
    filters: NotRequired[Filters]
    """
    With `query`: the filters it was asked with.
    """
    selected_chunk_ids: NotRequired[list[str]]
    """
    What was clicked on, copied, cited: chunk_id of the results.
    """
    useful: NotRequired[bool | None]
    comment: NotRequired[str]


class Message(TypedDict):
    role: Literal["user", "assistant"]
    content: str


class QueryOptions(TypedDict):
    k: NotRequired[int]
    filters: NotRequired[Filters]
    mode: NotRequired[Literal["hybrid", "semantic", "lexical"]]
    fusion: NotRequired[Literal["weighted", "rrf"]]
    """
    `weighted`: a sum of both scores, each stretched to 0…1 over the candidates. `rrf`: by ranks alone.
    """
    weights: NotRequired[Weights]
    """
    For fusion `weighted`; equal by default.
    """
    rrf_k: NotRequired[int]
    """
    For fusion `rrf`.
    """
    min_relevance: NotRequired[float]
    """
    Leave out passages whose `relevance` is lower.
    """
    threshold: NotRequired[float | Threshold | None]
    """
    Lowest final score to return; or lowest scores by stage: `{"vector": 0.3, "fused": 0.2}`. Stages: vector, lexical, fused, rerank, final.
    """
    rerank: NotRequired[
        Literal["auto", "none", "cosine", "cross-encoder", "remote", "llm"]
    ]
    """
    `auto` decides by the question, and only among what is configured.
    """
    fast: NotRequired[bool]
    """
    Speed before quality: `auto` never reranks.
    """
    max_per_document: NotRequired[int | None]
    """
    At most so many passages of one document, even if that leaves fewer than k. Without it several documents are preferred, and k comes first.
    """
    mmr_lambda: NotRequired[float]
    """
    Below 1, passages unlike the ones before are preferred (MMR).
    """
    expand: NotRequired[Literal["none", "section"]]
    """
    `section`: each passage is the whole section around the hit, if not too long.
    """
    highlight: NotRequired[bool]
    """
    Say where in each passage the question's words stand.
    """
    token_budget: NotRequired[int | None]
    context_format: NotRequired[Literal["plain", "source_documents"]]
    """
    Of `context.text`. `plain`: numbered passages. `source_documents`: Markdown with a heading for each passage, and how to cite at the end.
    """
    explain: NotRequired[bool]
    """
    List every candidate with its scores and why it was dropped.
    """


class AnswerOptions(TypedDict):
    k: NotRequired[int]
    filters: NotRequired[Filters]
    mode: NotRequired[Literal["hybrid", "semantic", "lexical"]]
    fusion: NotRequired[Literal["weighted", "rrf"]]
    """
    `weighted`: a sum of both scores, each stretched to 0…1 over the candidates. `rrf`: by ranks alone.
    """
    weights: NotRequired[Weights]
    """
    For fusion `weighted`; equal by default.
    """
    rrf_k: NotRequired[int]
    """
    For fusion `rrf`.
    """
    min_relevance: NotRequired[float]
    """
    Leave out passages whose `relevance` is lower.
    """
    threshold: NotRequired[float | Threshold | None]
    """
    Lowest final score to return; or lowest scores by stage: `{"vector": 0.3, "fused": 0.2}`. Stages: vector, lexical, fused, rerank, final.
    """
    rerank: NotRequired[
        Literal["auto", "none", "cosine", "cross-encoder", "remote", "llm"]
    ]
    """
    `auto` decides by the question, and only among what is configured.
    """
    fast: NotRequired[bool]
    """
    Speed before quality: `auto` never reranks.
    """
    max_per_document: NotRequired[int | None]
    """
    At most so many passages of one document, even if that leaves fewer than k. Without it several documents are preferred, and k comes first.
    """
    mmr_lambda: NotRequired[float]
    """
    Below 1, passages unlike the ones before are preferred (MMR).
    """
    expand: NotRequired[Literal["none", "section"]]
    """
    `section`: each passage is the whole section around the hit, if not too long.
    """
    highlight: NotRequired[bool]
    """
    Say where in each passage the question's words stand.
    """
    token_budget: NotRequired[int | None]
    context_format: NotRequired[Literal["plain", "source_documents"]]
    """
    Of `context.text`. `plain`: numbered passages. `source_documents`: Markdown with a heading for each passage, and how to cite at the end.
    """
    explain: NotRequired[bool]
    """
    List every candidate with its scores and why it was dropped.
    """
    messages: NotRequired[list[Message]]
    """
    The conversation so far, oldest first. A follow-up question is made standalone before it is searched for. At most 100,000 characters together.
    """
    model: NotRequired[str]
    """
    An alias of the installation's language models; `extractive` needs none. Without it: the namespace's, else the installation's.
    """
    temperature: NotRequired[float | None]
    """
    null: the model's own.
    """
    max_tokens: NotRequired[int | None]
    stop: NotRequired[list[str]]
    """
    Texts at which the model stops writing.
    """
    instructions: NotRequired[str]
    """
    About style or form, such as `Answer in one sentence`. Never above the rules that an answer keeps to.
    """
    verify: NotRequired[bool]
    """
    Let the configured verifier judge each citation afterwards.
    """
    expand_query: NotRequired[Literal["none", "multi-query", "hyde", "step-back"]]
    """
    Let the language model word the question differently for the search.
    """
