"""Completes the generated schema: every operation can answer with the error envelope."""

from typing import Any

ERRORS = {
    "400": "The request cannot be parsed.",
    "401": "No valid API key was sent.",
    "403": "The key lacks the scope, or a quota is used up.",
    "404": "There is no such thing in this namespace.",
    "405": "The address does not take this method.",
    "406": "None of the media types asked for can be given.",
    "408": "The request body came too slowly.",
    "409": "It contradicts the present state.",
    "413": "The body or a file is too large.",
    "415": "This kind of content is not taken.",
    "422": "It was understood, but a field is not acceptable.",
    "429": "Too many requests, or too much at once; Retry-After says when to try again.",
    "500": "Our fault.",
    "503": "The database cannot be reached or takes too long, or too much is going on; "
    "try again shortly.",
    "507": "There is no room to store it.",
}
ERROR_SCHEMA = {
    "type": "object",
    "description": "Every error looks like this.",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "details", "request_id"],
            "properties": {
                "code": {"type": "string", "description": "Stable; made for programs."},
                "message": {"type": "string", "description": "Made for people."},
                "details": {"type": "object", "additionalProperties": True},
                "request_id": {"type": "string"},
            },
        }
    },
}


def declare_errors(result: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    result["components"]["schemas"]["Error"] = ERROR_SCHEMA
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    for path, operations in result["paths"].items():
        for method, operation in operations.items():
            for code, description in ERRORS.items():
                if _can_happen(code, path, method):
                    answer = {"description": description, "content": content}
                    operation["responses"].setdefault(code, answer)
    return result


def _can_happen(code: str, path: str, method: str) -> bool:
    with_body = method in ("post", "put", "patch")
    return {
        "400": with_body,
        "404": "{" in path or method == "get",
        "408": with_body,
        "409": with_body or path.endswith("/text"),
        "413": with_body,
        "415": with_body,
        "507": with_body,
    }.get(code, True)
