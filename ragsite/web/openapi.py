"""Completes the generated schema: errors and a summary of every operation, the patterns of every
text, and the order in which the documentation shows the groups."""

from collections.abc import Iterator
from typing import Any

from ragsite.platform.errors import OPENAI_PREFIX

Schema = dict[str, Any]

RULES = "x-rules"  # key of a component's rules, until declare_rules applies them
ERRORS = {
    "400": "The request cannot be parsed.",
    "401": "No valid API key was sent.",
    "403": "The key lacks the scope, or a quota is used up.",
    "404": "The object does not exist in this namespace.",
    "405": "This path does not support the method.",
    "406": "None of the requested media types is available.",
    "408": "The request body came too slowly.",
    "409": "The request conflicts with the current state.",
    "413": "The body or a file is too large.",
    "415": "This content type is not accepted.",
    "422": "A field is not valid.",
    "429": "Too many requests, or too many at once; Retry-After says when to try again.",
    "500": "An internal error.",
    "503": "The database cannot be reached or takes too long, or the service is overloaded; "
    "try again shortly.",
    "507": "There is not enough disk space.",
}
OPENAI_ERRORS = {code: text for code, text in ERRORS.items() if code not in ("406", "422")} | {
    "400": "The request cannot be parsed, a field is not valid, or an option is not supported."
}
_SECONDS = {"description": "Seconds to wait.", "schema": {"type": "string", "pattern": "^[0-9]+$"}}
HEADERS = {
    "401": {"WWW-Authenticate": {"schema": {"type": "string"}}},
    "405": {"Allow": {"schema": {"type": "string"}}},
    "429": {"Retry-After": _SECONDS},
    "503": {"Retry-After": _SECONDS},
}
ERROR_SCHEMA = {
    "type": "object",
    "description": "The envelope of all errors.",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "details", "request_id"],
            "properties": {
                "code": {"type": "string", "description": "A stable code for programs."},
                "message": {"type": "string", "description": "A message for people."},
                "details": {"type": "object", "additionalProperties": True},
                "request_id": {"type": "string"},
            },
        }
    },
}

# The order in the documentation, the most common groups first. Other groups come last.
TAGS = {
    "ingest": "Add documents.",
    "query": "Find passages.",
    "answer": "Answer questions with checked citations.",
    "documents": "Documents and their state.",
    "jobs": "Jobs that make documents searchable.",
    "collections": "Groups of documents.",
    "facts": "Facts in memory.",
    "feedback": "Feedback on results.",
}
MAX_SUMMARY = 100  # characters
# Summaries of operations without a description of their own, or with that of their class.
SUMMARIES = {
    "GET /api/v1/collections/{id}": "Return one collection",
    "GET /api/v1/documents": "List documents",
    "GET /api/v1/documents/{id}": "Return one document with its state",
    "GET /api/v1/documents/{id}/versions": "List the document's versions",
    "GET /api/v1/evaluations": "List evaluation runs",
    "GET /api/v1/evaluations/{id}": "Return one evaluation run",
    "POST /api/v1/evaluations/{id}/cancel": "Cancel an evaluation run",
    "GET /api/v1/facts/{id}": "Return one fact",
    "GET /api/v1/memories/{id}": "Return one memory",
    "GET /api/v1/golden-queries/{id}": "Return one golden query",
    "PATCH /api/v1/golden-queries/{id}": "Change a golden query",
    "DELETE /api/v1/golden-queries/{id}": "Delete a golden query",
    "GET /api/v1/golden-sets": "List golden sets",
    "POST /api/v1/golden-sets": "Create a golden set",
    "GET /api/v1/golden-sets/{id}": "Return one golden set",
    "GET /api/v1/golden-sets/{id}/queries": "List the set's queries",
    "GET /api/v1/jobs": "List jobs",
    "GET /api/v1/jobs/{id}": "Return one job with its progress",
    "DELETE /api/v1/judgements/{id}": "Delete a judgement",
    "GET /api/v1/namespace-removals/{id}": "Return the receipt of a deleted namespace",
    "GET /api/v1/namespaces": "List namespaces",
    "POST /api/v1/namespaces": "Create a namespace",
    "GET /api/v1/namespaces/{slug}": "Return one namespace",
    "POST /api/v1/namespaces/{slug}/keys": "Create a key; its secret is shown once",
    "GET /api/v1/reindex": "Return the state of the reindex",
    "GET /api/v1/usage": "Return the contents and usage of the namespace",
}
# Descriptions of classes, not of operations.
NOT_DESCRIPTIONS = (
    "A cursor-paged list that refuses query parameters it does not know.",
    "Runs as the operator role once the key has been checked.",
)

# What str.strip() removes, spelled out because regular expressions differ about \\s.
_BLANKS = r"\t-\r\u001c-\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
NO_NUL = r"^[^\u0000]*$"
NOT_BLANK = rf"^[^\u0000]*[^\u0000{_BLANKS}][^\u0000]*$"
LONG_TEXT = 1000  # tools that generate texts from a pattern are very slow for long ones
ANY_TEXT = r"^[\s\S]*$"  # for texts that may contain NUL: those with a pattern are not changed

JSON_OBJECT, JSON_VALUE = "#/components/schemas/JsonObject", "#/components/schemas/JsonValue"
JSON_SCHEMAS: dict[str, Schema] = {
    "JsonObject": {
        "type": "object",
        "description": "Any JSON that the database can keep: no NUL characters, at most 20 levels "
        "deep and 65,536 characters long.",
        "propertyNames": {"pattern": NO_NUL},
        "additionalProperties": {"$ref": JSON_VALUE},
    },
    "JsonValue": {
        "anyOf": [
            {"type": ["null", "boolean", "number"]},
            {"type": "string", "pattern": NO_NUL},
            {"type": "array", "items": {"$ref": JSON_VALUE}},
            {"$ref": JSON_OBJECT},
        ]
    },
}


def declare_errors(result: Schema, **kwargs: Any) -> Schema:
    result["components"]["schemas"]["Error"] = ERROR_SCHEMA
    for path, operations in result["paths"].items():
        is_openai = path.startswith(OPENAI_PREFIX)
        component, errors = ("OpenAIError", OPENAI_ERRORS) if is_openai else ("Error", ERRORS)
        content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{component}"}}}
        for method, operation in operations.items():
            for code, description in errors.items():
                if code in operation["responses"] or _can_happen(code, path, method):
                    answer: Schema = {"description": description, "content": content}
                    described = operation["responses"].setdefault(code, answer)
                    described["description"] = described["description"] or description
                    if code in HEADERS:
                        described["headers"] = HEADERS[code]
    return result


def declare_summaries(result: Schema, **kwargs: Any) -> Schema:
    """Give every operation a summary of one line, by default the first sentence of its
    description."""
    used = set()
    for path, operations in result["paths"].items():
        for method, operation in operations.items():
            described = operation.get("description", "")
            if described.startswith(NOT_DESCRIPTIONS):
                operation.pop("description")
                described = ""
            name = f"{method.upper()} {path}"
            operation["summary"] = SUMMARIES.get(name) or _first_sentence(described)
            used.update(operation.get("tags", []))
    named = [{"name": tag, "description": text} for tag, text in TAGS.items() if tag in used]
    result["tags"] = [*named, *({"name": tag} for tag in sorted(used - TAGS.keys()))]
    return result


def _first_sentence(text: str) -> str:
    sentence = " ".join(text.split()).partition(". ")[0].removesuffix(".")
    if len(sentence) <= MAX_SUMMARY:
        return sentence
    for mark in (": ", "; ", ", "):
        sentence = sentence[:MAX_SUMMARY].rpartition(mark)[0] or sentence
        if len(sentence) <= MAX_SUMMARY:
            return sentence
    return sentence[:MAX_SUMMARY].rpartition(" ")[0]


def _can_happen(code: str, path: str, method: str) -> bool:
    with_body = method in ("post", "put", "patch")
    return {
        "400": with_body,
        "404": with_body or "{" in path or method == "get",
        "408": with_body,
        "409": with_body or method == "delete" or path.endswith("/text"),
        "413": with_body,
        "415": with_body,
        "507": with_body,
    }.get(code, True)


def declare_rules(result: Schema, **kwargs: Any) -> Schema:
    """Add rules between fields last, because other hooks would read them as fields. They require
    some field, so the body becomes required."""
    ruled = set()
    for name, schema in result["components"]["schemas"].items():
        if rules := schema.pop(RULES, {}):
            schema.update(rules)
            ruled.add(f"#/components/schemas/{name}")
    for operations in result["paths"].values():
        for operation in operations.values():
            body = operation.get("requestBody", {})
            if any(
                form["schema"].get("$ref") in ruled for form in body.get("content", {}).values()
            ):
                body["required"] = True
    return result


def declare_texts(result: Schema, **kwargs: Any) -> Schema:
    """Forbid NUL in every submitted text, and blank values where a text must not be empty."""
    result["components"]["schemas"].update(JSON_SCHEMAS)
    for schema in _sent(result):
        if schema.get("type") == "string" and not schema.keys() & {"enum", "format", "pattern"}:
            is_short = schema.get("maxLength", LONG_TEXT) < LONG_TEXT
            schema["pattern"] = NOT_BLANK if is_short and schema.get("minLength") else NO_NUL
    return result


def _sent(result: Schema) -> Iterator[Schema]:
    """Yield every schema of a request once."""
    seen: set[str] = set()
    pending: list[Any] = []
    for operations in result["paths"].values():
        for operation in operations.values():
            pending.append(operation.get("requestBody", {}))
            pending += [p["schema"] for p in operation.get("parameters", [])]
    while pending:
        part = pending.pop()
        if isinstance(part, list):
            pending += part
        elif isinstance(part, dict):
            yield part
            name = part.get("$ref", "").rpartition("/")[2]
            if name and name not in seen:
                seen.add(name)
                pending.append(result["components"]["schemas"][name])
            pending += [value for key, value in part.items() if key not in ("default", "example")]
