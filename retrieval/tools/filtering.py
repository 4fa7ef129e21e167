"""Filters and facts in the arguments of tools, as in POST /query; filters are simplified."""

from documents.passages import MAX_FACT_NAME

from .base import Schema, texts

TAG, TAGS = 200, 100  # characters of one, how many

_DATES = {
    "type": "array",
    "description": "[from, to], each a date such as 2026-01-31 or null for open. The date a "
    "document gives itself, else when it was added.",
    "items": {"type": ["string", "null"], "maxLength": 40},
    "minItems": 2,
    "maxItems": 2,
}
_METADATA = {
    "type": "object",
    "description": 'Metadata a document must have, e.g. {"author": "Ada", "year": {"$gte": 2020}}. '
    "Operators: $eq $ne $in $nin $gt $gte $lt $lte $exists, and $and $or $not.",
}


_MOMENT = {"type": "string", "maxLength": 40}

FACTS: Schema = {
    "type": ["boolean", "object"],
    "description": "true: answer from facts in memory, too; they are cited with `fact`. An object "
    "says which facts. Name the user if you answer for one of several.",
    "properties": {
        "subjects": texts("Facts about any of these.", max_length=MAX_FACT_NAME, max_items=100),
        "predicates": texts(
            "Facts with any of these predicates, e.g. 'lives in'.",
            max_length=MAX_FACT_NAME,
            max_items=100,
        ),
        "tags": texts("Facts with all of these tags.", max_length=TAG, max_items=TAGS),
        "user": {
            "type": "string",
            "description": "Facts of this user and those of no particular user.",
            "maxLength": 200,
        },
        "as_of": {**_MOMENT, "description": "Facts that were true at this moment; ISO 8601."},
        "known_at": {**_MOMENT, "description": "Facts as known at this moment; ISO 8601."},
    },
    "additionalProperties": False,
}

FILTERS: Schema = {
    "type": "object",
    "description": "Restricts which documents count. Leave out unless you know the values.",
    "properties": {
        "tags": texts("Documents with any of these tags.", max_length=TAG, max_items=TAGS),
        "document_ids": {
            "type": "array",
            "description": "Only these documents, by document id.",
            "items": {"type": "string", "format": "uuid"},
            "maxItems": 1000,
        },
        "collection": texts(
            "Only documents in any of these collections, by name or id.",
            max_length=256,
            max_items=100,
        ),
        "source_types": texts("Kinds of files, e.g. pdf, md, html.", max_length=20, max_items=20),
        "language": texts("Languages as ISO 639 codes, e.g. en, de.", max_length=8, max_items=100),
        "date_range": _DATES,
        "metadata": _METADATA,
    },
    "additionalProperties": False,
}
