"""Writes models.py and options.py of the client from docs/openapi.yaml; `make client` runs it.

Responses become pydantic models that accept what a newer server adds; requests become TypedDicts.
"""

import hashlib
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
SCHEMA = HERE.parents[1] / "docs" / "openapi.yaml"
PACKAGE = HERE / "src" / "ragsite_client"

RESPONSES = (
    "Answer",
    "Collection",
    "Document",
    "Erased",
    "Fact",
    "TurnErasure",
    "FactSearchResult",
    "Feedback",
    "History",
    "IngestAnswer",
    "Job",
    "Proposals",
    "QueryAnswer",
    "Remembered",
    "Removal",
    "Stated",
    "StatedList",
    "Text",
    "Turn",
    "Usage",
)
# Name in the schema → name in the client, and the fields that are arguments there.
REQUESTS = {
    "AnswerRequestRequest": ("AnswerOptions", ("query", "stream")),
    "ChunkingRequest": ("Chunking", ()),
    "ErasureRequest": ("FactSelection", ()),
    "FactSearchRequest": ("FactOptions", ("query",)),
    "FeedbackFormRequest": ("FeedbackOptions", ()),
    "FiltersRequest": ("Filters", ()),
    "ItemRequest": ("TextDocument", ()),
    "MemoryQueryRequest": ("MemoryOptions", ("query",)),
    "MessageRequest": ("Message", ()),
    "NewTurnRequest": ("NewTurn", ()),
    "PatchedFactChangeRequest": ("FactChanges", ()),
    "ProposingRequest": ("ProposingOptions", ("text",)),
    "QueryRequest": ("QueryOptions", ("query",)),
    "StatementRequest": ("NewFact", ()),
    "WeightsRequest": ("Weights", ()),
}
FREE_FORM = {f"#/components/schemas/{name}" for name in ("JsonObject", "MetadataFilter")}
ANYTHING = "#/components/schemas/JsonValue"
# The server checks values; the client describes their types.
LISTED_VALUES = re.compile(r"^\* `[^`]*` - .*$", re.MULTILINE)  # the type lists them
CONSTRAINTS = (
    *("pattern", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems"),
    *("minProperties", "maxProperties", "propertyNames", "default", "example", "readOnly"),
)
COMMON = (
    *("--input-file-type", "openapi", "--target-python-version", "3.11", "--disable-timestamp"),
    *("--use-standard-collections", "--use-union-operator", "--use-annotated"),
    *("--use-schema-description", "--use-field-description", "--formatters", "ruff-format"),
    *("--collapse-root-models", "--output-datetime-class", "datetime"),
)


def plain(node: Any, *, open_ended: bool) -> Any:
    """A schema without what only the server checks. Open-ended: whatever a newer server sends."""
    if isinstance(node, list):
        return [plain(item, open_ended=open_ended) for item in node]
    if not isinstance(node, dict):
        return node
    if node.get("$ref") in FREE_FORM:
        return {"type": "object", "additionalProperties": True}
    if node.get("$ref") == ANYTHING:
        return {"description": node["description"]} if "description" in node else {}
    dropped = {*CONSTRAINTS, *(("enum",) if open_ended else ())}
    if node.get("additionalProperties") is False:
        dropped.add("additionalProperties")
    kept = {k: plain(v, open_ended=open_ended) for k, v in node.items() if k not in dropped}
    if kept.get("format") != "double" and not (open_ended and kept.get("format") == "date-time"):
        kept.pop("format", None)
    if isinstance(kept.get("description"), str):
        kept["description"] = LISTED_VALUES.sub("", kept["description"]).strip()
    if kept.pop("nullable", False):
        kept["type"] = [kept["type"], "null"]
    if len(kept.get("allOf", [])) == 1 and "properties" not in kept:
        kept |= kept.pop("allOf")[0]
    elif "properties" in kept:
        for rule in ("allOf", "anyOf", "oneOf"):  # which fields go together
            kept.pop(rule, None)
    return kept


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"].rsplit("/", 1)[1]
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def with_all_they_name(names: list[str], schemas: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    while names:
        name = names.pop()
        if name not in found:
            found[name] = schemas[name]
            names.extend(references(schemas[name]))
    return dict(sorted(found.items()))


def responses(schemas: dict[str, Any]) -> dict[str, Any]:
    there = {name: plain(schema, open_ended=True) for name, schema in schemas.items()}
    return with_all_they_name([name for name in RESPONSES if name in there], there)


def requests(schemas: dict[str, Any]) -> dict[str, Any]:
    there = {name: plain(schema, open_ended=False) for name, schema in schemas.items()}
    found = with_all_they_name([name for name in REQUESTS if name in there], there)
    for name, (_, arguments) in REQUESTS.items():
        for argument in arguments:
            del found[name]["properties"][argument]
            if argument in found[name].get("required", ()):
                found[name]["required"].remove(argument)
    text = json.dumps(found)
    for name, (own, _) in REQUESTS.items():
        text = text.replace(f'"{name}"', f'"{own}"').replace(f'/{name}"', f'/{own}"')
    renamed: dict[str, Any] = json.loads(text)
    for name, _ in REQUESTS.values():
        renamed[name].pop("description", None)
    return renamed


def digest(schemas: dict[str, Any]) -> str:
    """Of the part of the schema that a file was made from, and of this generator."""
    text = json.dumps(schemas, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode() + Path(__file__).read_bytes()).hexdigest()[:16]


def generated(schemas: dict[str, Any], about: str, *options: str) -> str:
    document = {"openapi": "3.1.0", "info": {"title": "Ragsite", "version": "1"}, "paths": {}}
    document["components"] = {"schemas": schemas}
    header = f'"""{about}"""\n\n# Made by generate.py, not by hand. Schema {digest(schemas)}.\n'
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "schema.json", Path(folder) / "out.py"
        source.write_text(json.dumps(document))
        command = [sys.executable, "-m", "datamodel_code_generator", *COMMON, *options]
        command += ["--input", str(source), "--output", str(target), "--custom-file-header", header]
        subprocess.run(command, check=True)
        return target.read_text()


def parts() -> dict[str, dict[str, Any]]:
    """The part of the schema behind each file."""
    schemas = yaml.safe_load(SCHEMA.read_text())["components"]["schemas"]
    return {"models.py": responses(schemas), "options.py": requests(schemas)}


def files() -> dict[str, str]:
    part = parts()
    return {
        "models.py": generated(
            part["models.py"],
            "What the API answers. Fields that a newer server adds are kept.",
            *("--output-model-type", "pydantic_v2.BaseModel", "--extra-fields", "allow"),
        ),
        "options.py": generated(
            part["options.py"],
            "What the API is asked, as typed dictionaries.",
            *("--output-model-type", "typing.TypedDict", "--enum-field-as-literal", "all"),
        ),
    }


def main() -> None:
    for name, text in files().items():
        (PACKAGE / name).write_text(text)


if __name__ == "__main__":
    main()
