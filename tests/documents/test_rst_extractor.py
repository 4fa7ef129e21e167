"""reStructuredText: the text as it stands, with its titles and code marked."""

import pytest

from documents.errors import EmptyFile
from documents.extractors.markup.rst import RstExtractor

SOURCE = """\
=====
Guide
=====

Some words with ``code``.

Install
-------

Run this::

    pip install x

        indented

Then go on.

.. code-block:: python
   :linenos:

   def f():
       return 1

Use `f`_ well
~~~~~~~~~~~~~

- one
- two

+---+---+
| a | b |
+---+---+

----

Next
----
Text right below.
"""


def shown(source):
    extracted = RstExtractor().extract(source.encode())
    assert extracted.text == source
    end = -1
    for block in extracted.blocks:
        assert end < block.start < block.end
        end = block.end
    return [
        (block.kind, block.level, source[block.start : block.end]) for block in extracted.blocks
    ]


def test_titles_code_lists_and_tables():
    assert shown(SOURCE) == [
        ("heading", 1, "=====\nGuide\n====="),
        ("text", 0, "Some words with ``code``."),
        ("heading", 2, "Install\n-------"),
        ("text", 0, "Run this::"),
        ("code", 0, "    pip install x\n\n        indented"),
        ("text", 0, "Then go on."),
        ("text", 0, ".. code-block:: python\n   :linenos:"),
        ("code", 0, "   def f():\n       return 1"),
        ("heading", 3, "Use `f`_ well\n~~~~~~~~~~~~~"),
        ("list", 0, "- one\n- two"),
        ("table", 0, "+---+---+\n| a | b |\n+---+---+"),
        ("text", 0, "----"),
        ("heading", 2, "Next\n----"),
        ("text", 0, "Text right below."),
    ]


def test_titles_lose_their_markup_and_code_knows_its_language():
    extracted = RstExtractor().extract(SOURCE.encode())
    titles = [block.title for block in extracted.blocks if block.kind == "heading"]
    assert titles == ["Guide", "Install", "Use f well", "Next"]
    assert [block.language for block in extracted.blocks if block.kind == "code"] == ["", "python"]
    assert extracted.title == "Guide"


def test_a_short_adornment_under_a_long_line_is_still_a_title():
    assert shown("A rather long title\n-----\n\nText.\n")[0][0] == "heading"


def test_no_bytes():
    with pytest.raises(EmptyFile):
        RstExtractor().extract(b"")


@pytest.mark.parametrize("source", ["====", "====\nTitle", "a::", "..", ".. code::", "::\n\n  x"])
def test_odd_ends_do_not_trip_it(source):
    assert shown(source)
