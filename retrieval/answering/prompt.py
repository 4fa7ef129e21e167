"""The prompt: a template that operators can replace, filled with rules, documents and question.

Documents are data. Each is between tags that contain a word made for this prompt, so no document
can close its block or open another. Title, section, file name and conflicting values of documents
are inside the block too. Control tokens of chat templates are broken up, and citation markers in
documents are defused.
"""

import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.template import Context, Engine, Template

from documents.language_models.base import Message
from retrieval.answering.requests import Evidence, Uncertainty
from retrieval.context.assembly import above

from .checks.markers import without_markers
from .writers import control_tokens

DEFAULT_TEMPLATE = Path(__file__).with_name("prompt.txt")
SEPARATOR = re.compile(r"^=== user ===\n", re.MULTILINE)
SENTINEL = "NOT_ENOUGH_INFORMATION"
MAX_HISTORY = 8  # earlier turns shown to the model
MAX_TURN_CHARACTERS = 4000
BLOCK_TOKENS = 40  # for the tags around a document

MARKER = re.compile(r"[\[【]\s*cite\s*:", re.IGNORECASE)
INVISIBLE = re.compile(
    "[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
)

LANGUAGE_NAMES = {
    "ar": "Arabic", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English",
    "es": "Spanish", "fi": "Finnish", "fr": "French", "hi": "Hindi", "hu": "Hungarian",
    "id": "Indonesian", "it": "Italian", "ja": "Japanese", "ko": "Korean", "nl": "Dutch",
    "no": "Norwegian", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian",
    "sv": "Swedish", "th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "vi": "Vietnamese",
    "zh": "Chinese",
}  # fmt: skip


class BadTemplate(Exception):
    """The operator's template cannot be read or used; the message says why."""


@dataclass(frozen=True, slots=True)
class PromptInput:
    question: str
    evidence: tuple[Evidence, ...]
    conflicts: tuple[Uncertainty, ...] = ()
    history: tuple[Message, ...] = ()
    system_prompt: str = ""
    instructions: str = ""
    language: str = ""  # the namespace's; blank: the question's


def build_prompt(inputs: PromptInput, *, template_file: str = "") -> tuple[Message, ...]:
    """Return the system message, earlier turns, and the documents with the question."""
    mark = f"data-{secrets.token_hex(6)}"
    system, user = _templates(template_file)
    values = Context(
        {
            "mark": mark,
            "sentinel": SENTINEL,
            "question": _on_one_line(control_tokens.neutralised(inputs.question)),
            "documents": "\n".join(_block(item, mark) for item in inputs.evidence),
            "conflicts": [_on_one_line(neutralised(c.message)) for c in inputs.conflicts],
            "system_prompt": inputs.system_prompt.strip(),
            "instructions": control_tokens.neutralised(inputs.instructions).strip(),
            "language_rule": _language_rule(inputs.language),
        },
        autoescape=False,
    )
    return (
        Message("system", system.render(values).strip()),
        *(_earlier_turn(turn) for turn in inputs.history[-MAX_HISTORY:]),
        Message("user", user.render(values).strip()),
    )


def fitted_evidence(
    evidence: Sequence[Evidence], *, tokens: int, count_tokens: Callable[[str], int]
) -> tuple[Evidence, ...]:
    """Return the best passages that fit into this many tokens; always at least one."""
    kept: list[Evidence] = []
    for item in evidence:
        tokens -= count_tokens(item.text) + count_tokens(above(item.hit)) + BLOCK_TOKENS
        if kept and tokens < 0:
            break
        kept.append(item)
    return tuple(kept)


def neutralised(text: str) -> str:
    """Defuse everything in a document's text that a model might take for structure."""
    return MARKER.sub("(cite ", control_tokens.neutralised(INVISIBLE.sub("", text)))


def _block(item: Evidence, mark: str) -> str:
    place = _on_one_line(neutralised(above(item.hit).splitlines()[0]))
    date = f"\nDate: {item.as_of:%Y-%m-%d}" if item.as_of else ""
    header = neutralised(item.hit.table_header)
    rows = f"\nTable header: {header}" if header else ""
    text = neutralised(item.text)
    return f"<{mark} document id={item.id}>\nFrom: {place}{date}{rows}\n\n{text}\n</{mark}>"


def _earlier_turn(turn: Message) -> Message:
    text = control_tokens.neutralised(without_markers(turn.content))
    return Message(turn.role, text[:MAX_TURN_CHARACTERS])


def _language_rule(language: str) -> str:
    if not language:
        return "Answer in the language of the question."
    return f"Answer in {LANGUAGE_NAMES.get(language, f'the language with the code {language}')}."


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


@cache
def _templates(template_file: str) -> tuple[Template, Template]:
    path = Path(template_file).expanduser() if template_file else DEFAULT_TEMPLATE
    try:
        parts = SEPARATOR.split(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise BadTemplate(f"The prompt template {path} cannot be read.") from error
    if len(parts) != 2:
        raise BadTemplate(f"The prompt template {path} needs exactly one line '=== user ==='.")
    for name in ("documents", "question", "mark"):
        if not re.search(rf"\{{\{{\s*{name}\s*\}}\}}", parts[0] + parts[1]):
            raise BadTemplate(f"The prompt template {path} does not use {{{{ {name} }}}}.")
    engine = Engine(autoescape=False)
    try:
        return engine.from_string(parts[0]), engine.from_string(parts[1])
    except Exception as error:  # a tag that is not closed, a filter that does not exist
        raise BadTemplate(f"The prompt template {path} is wrong: {error}") from error
