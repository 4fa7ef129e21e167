"""Kinds of files have names for people, in lists and filters."""

from documents.extractors.formats import FORMATS, KIND_NAMES, kind_name
from ragsite.platform.wording import words_of


def test_every_kind_that_is_read_has_a_name():
    kinds = {format_.source_type for format_ in FORMATS.values()} | {"web"}
    assert kinds == set(KIND_NAMES)
    assert kind_name("docx") == "Word"
    assert kind_name("something-new") == "something-new"


def test_codes_are_shown_as_words():
    assert words_of("parse_error") == "Parse error"
