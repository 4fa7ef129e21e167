"""Normalised forms: under which names and objects of statements meet."""

import hashlib
import json
import re
import unicodedata
from typing import Any

MAX_KEY = 500

_QUOTES = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "\u00ad": None, "\u200b": None})
_OUTER = " \t\r\n\"'`.,;:!?()[]{}<>«»"
_LEGAL_FORMS = (
    "ab ag as asa bv co company corp corporation gmbh inc incorporated kg kk limited llc llp lp "
    "ltd nv oy oyj plc pty sa sarl sas se spa srl"
)
_LEGAL = frozenset(_LEGAL_FORMS.split())
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SEPARATORS = re.compile(r"[\s_\-./:]+")
_ARTICLES = ("the ", "a ", "an ")
# Before a noun these add nothing: "has price" and "price" say the same.
_AUXILIARIES = ("has ", "have ", "had ", "is ", "are ", "was ", "were ")
_BRITISH = {"colour": "color", "favourite": "favorite", "organisation": "organization"}


def name_key(name: str) -> str:
    """Return the key of a name: "Acme, Inc.", "ACME" and "the Acme" have the same key. Case,
    quotes, outer punctuation, a leading "the" and a trailing legal form are ignored."""
    folded = unicodedata.normalize("NFKC", name).translate(_QUOTES).casefold()
    words = " ".join(folded.replace("_", " ").split())
    stripped = words.strip(_OUTER).removeprefix("the ") or words
    parts = stripped.split(" ")
    while len(parts) > 1 and parts[-1].replace(".", "").strip(",") in _LEGAL:
        parts.pop()
    return " ".join(parts).strip(_OUTER)[:MAX_KEY] or words[:MAX_KEY]


def predicate_key(predicate: str) -> str:
    """Return the key of a predicate: "worksAt", "works_at" and "Works at" have the same key."""
    spaced = _CAMEL.sub(" ", unicodedata.normalize("NFKC", predicate).translate(_QUOTES))
    words = _SEPARATORS.sub(" ", spaced).casefold().strip(_OUTER) or spaced.casefold().strip()
    for auxiliary in _AUXILIARIES:
        rest = words.removeprefix(auxiliary)
        if rest != words and not f"{rest} ".startswith(_ARTICLES):
            words = rest
            break
    return " ".join(_BRITISH.get(word, word) for word in words.split())[:MAX_KEY]


def canonical(value: Any) -> Any:
    """Return the JSON value in a canonical form, which is the same for equal values."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: canonical(item) for key, item in value.items()}
    if isinstance(value, list):
        return [canonical(item) for item in value]
    return value


def object_key(value: Any, *, name: str | None = None) -> str:
    """Return a hash that is the same for equivalent objects. A string is compared by `name`, its
    normalised form; anything else as JSON."""
    if isinstance(value, str):
        plain = "s" + (name_key(value) if name is None else name)
    else:
        plain = "j" + json.dumps(canonical(value), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()[:32]
