"""Read the YAML block at the start of a Markdown file into values that JSON can hold."""

import base64
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, time
from typing import Any

import yaml
from frontmatter.default_handlers import YAMLHandler

from documents.extractors.cleaning import clean

MAX_BLOCK_CHARACTERS = 64 * 1024  # a larger block is not front matter
MAX_NESTING = 8
SAFE_INTEGER = 2**63  # most JSON parsers lose digits beyond it
HANDLER = YAMLHandler()


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """`text` follows the block; a block that cannot be read stays at the start of it."""

    text: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    unread: int = 0  # characters of an unreadable block at the start of `text`
    warnings: tuple[str, ...] = ()


class NoAliasLoader(yaml.SafeLoader):
    """Refuses aliases, which can turn a small file into a huge or endless value."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not read")
        return super().compose_node(parent, index)


def read_front_matter(text: str) -> FrontMatter:
    if not HANDLER.detect(text):
        return FrontMatter(text)
    try:
        block, body = HANDLER.split(text)
    except ValueError:  # a horizontal rule at the top, without a second one
        return FrontMatter(text)
    try:
        fields = _load(block)
    except Exception as error:  # a broken date is a ValueError, deep nesting a RecursionError
        if "\n\n" in block:
            return FrontMatter(text)  # two horizontal rules with prose between them
        reason = " ".join(str(error).split())[:200]
        warning = f"The front matter is not valid YAML and was kept as text: {reason}"
        return FrontMatter(text, unread=len(text) - len(body), warnings=(warning,))
    if fields is None:
        return FrontMatter(text)
    return FrontMatter(body.lstrip("\n"), fields=fields)


def _load(block: str) -> dict[str, Any] | None:
    """Return the block's fields; None if it is not a mapping but prose."""
    if len(block) > MAX_BLOCK_CHARACTERS:
        raise ValueError(f"it has more than {MAX_BLOCK_CHARACTERS} characters")
    loaded = HANDLER.load(block, Loader=NoAliasLoader)
    if loaded is None:
        return {} if not block.strip() else None
    return _json_mapping(loaded, depth=0) if isinstance(loaded, dict) else None


def _json_mapping(value: Mapping[Any, Any], *, depth: int) -> dict[str, Any]:
    return {_json_key(key): json_safe(item, depth=depth + 1) for key, item in value.items()}


def _json_key(key: Any) -> str:
    safe = json_safe(key)
    return safe if isinstance(safe, str) else json.dumps(safe)


def json_safe(value: Any, *, depth: int = 0) -> Any:
    """Convert to the closest value that a jsonb column can hold."""
    match value:
        case None | bool():
            return value
        case str():
            return clean(value)
        case int():
            return value if abs(value) < SAFE_INTEGER else str(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case date() | time():  # includes datetime
            return value.isoformat()
        case bytes():
            return base64.b64encode(value).decode("ascii")
    if depth >= MAX_NESTING:
        return clean(str(value))
    match value:
        case Mapping():
            return _json_mapping(value, depth=depth)
        case list() | tuple():
            return [json_safe(item, depth=depth + 1) for item in value]
        case set():
            return sorted((json_safe(item, depth=depth + 1) for item in value), key=str)
    return clean(str(value))
