"""answer: a question answered from the documents, every citation checked."""

from dataclasses import replace
from typing import Any

from documents.language_models.base import LanguageModelFailed
from ragsite.errors import ApiError
from ragsite.platform.streams import slot_of
from retrieval.answering.requests import AnswerRequest, AnswerResult, Citation, Uncertainty
from retrieval.requests import SearchRequest

from .base import Arguments, Result, Tool, ToolContext, object_schema, text, whole_number
from .filtering import FILTERS, read_filters
from .rag import MAX_QUERY


def _answer(context: ToolContext, arguments: Arguments) -> Result:
    from retrieval.answering.answer import answer_whole

    search = SearchRequest(arguments["question"].strip(), k=arguments["limit"])
    request = AnswerRequest(
        search=replace(search, filters=read_filters(arguments)),
        model=arguments.get("model", ""),
        instructions=arguments.get("instructions", ""),
        max_tokens=arguments.get("max_tokens"),
    )
    try:
        with slot_of(f"tool:{context.key_id}"):
            return _shown(answer_whole(context.namespace_id, request))
    except LanguageModelFailed as error:
        raise ApiError(error.code, str(error), http_status=error.http_status) from None


def _shown(result: AnswerResult) -> Result:
    return {
        "answer": result.text,
        "is_answered": result.is_answered,
        "grounded": result.grounded,
        "missing": result.missing,
        "question": result.question,
        "citations": [_citation(citation) for citation in result.citations],
        "uncertainties": [_uncertainty(uncertainty) for uncertainty in result.uncertainties],
        "model": result.model,
        "usage": {
            "prompt_tokens": result.usage.prompt_tokens,
            "completion_tokens": result.usage.completion_tokens,
        },
        "notes": result.notes,
        "fallbacks": result.fallbacks,
        "query_id": result.query_id,
    }


def _citation(citation: Citation) -> dict[str, Any]:
    hit = citation.evidence.hit
    return {
        "id": citation.id,
        "type": "char_location",
        "cited_text": citation.cited_text,
        "document_title": hit.title,
        "document_id": hit.candidate.document_id,
        "document_version": hit.document_version,
        "start_char_index": citation.start,
        "end_char_index": citation.end,
        "page": citation.page_start,
        "section": hit.section,
        "source_uri": hit.source_uri,
        "answer_span": {"start": citation.answer_start, "end": citation.answer_end},
    }


def _uncertainty(uncertainty: Uncertainty) -> dict[str, Any]:
    values = [{"text": v.text, "cite": v.evidence_id} for v in uncertainty.values]
    return {"kind": uncertainty.kind, "message": uncertainty.message, "values": values}


ANSWER = Tool(
    name="answer",
    title="Answer from the documents",
    description="Answer a question from the knowledge base alone. The answer cites its sources as "
    "[cite:ID]; every citation was checked against the stored text and is listed with the exact "
    "words. If the documents do not say, is_answered is false and `missing` says what would be "
    "needed. `uncertainties` are values that documents disagree about or that stand in no cited "
    "passage: pass them on. Use ragSearch instead if you want to write the answer yourself.",
    input_schema=object_schema(
        {
            "question": text("A standalone question, in full.", longest=MAX_QUERY, pattern=r"\S"),
            "filters": FILTERS,
            "limit": whole_number("How many passages to answer from.", default=10, most=50),
            "model": text("Who writes it; leave out for the default.", longest=50),
            "instructions": text("How to write it, e.g. 'in one sentence'.", longest=4000),
            "max_tokens": {
                "type": "integer",
                "description": "Length of the answer at most.",
                "minimum": 1,
                "maximum": 32_000,
            },
        },
        required=["question"],
    ),
    run=_answer,
)
