"""answer: answer a question from the documents, with every citation checked."""

from typing import Any

from retrieval.api.answers.runs import AnswerRun, whole_answer
from retrieval.api.answers.serializers import answer_request_of
from retrieval.api.answers.shapes import shape_of_answer

from .base import Arguments, Result, Tool, ToolContext, object_schema, text, whole_number
from .filtering import FACTS, FILTERS
from .rag import MAX_QUERY

# Fields of POST /answer's response, without the sources that are not cited, which would only fill
# the context.
SHOWN = (
    "answer",
    "is_answered",
    "grounded",
    "missing",
    "question",
    "citations",
    "uncertainties",
    "model",
    "usage",
    "query_id",
)
RENAMED = {"question": "query", "limit": "k"}  # under the names of POST /answer


def _answer(context: ToolContext, arguments: Arguments) -> Result:
    body = {RENAMED.get(name, name): value for name, value in arguments.items()}
    request, _ = answer_request_of(body)
    result = whole_answer(AnswerRun(context.namespace_id, request, door="tool"))
    shape: dict[str, Any] = shape_of_answer(result, query=arguments["question"])
    return {
        **{name: shape[name] for name in SHOWN},
        "notes": result.notes,
        "fallbacks": result.fallbacks,
    }


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
            "question": text(
                "A standalone question, in full.", max_length=MAX_QUERY, pattern=r"\S"
            ),
            "filters": FILTERS,
            "limit": whole_number("Number of passages to answer from.", default=10, maximum=50),
            "model": text(
                "Alias of the model that writes it; omit for the default.", max_length=200
            ),
            "instructions": text("Style or form, e.g. 'in one sentence'.", max_length=4000),
            "max_tokens": {
                "type": "integer",
                "description": "Maximum length of the answer.",
                "minimum": 1,
                "maximum": 100_000,
            },
            "include_facts": FACTS,
        },
        required=["question"],
    ),
    run=_answer,
)
