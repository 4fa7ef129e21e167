"""Query syntax: quotes, exclusions and prefixes; everything else is plain text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.text.lexemes import ParsedQuery, parse_query, prepare
from documents.text.query_syntax import ONLY_EXCLUSIONS, PREFIX_TOO_SHORT


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("plain words", ParsedQuery("plain words")),
        ('find "exact  phrase" now', ParsedQuery("find exact phrase now", ("exact phrase",))),
        ("“a b” „c d“ «e f» »g h«", ParsedQuery("a b c d e f g h", ("a b", "c d", "e f", "g h"))),
        (
            'who was it that wrote in a paper of about 1977 that "virtual" machines may come',
            ParsedQuery(
                "who was it that wrote in a paper of about 1977 that virtual machines may come"
            ),
        ),
        ("关于「黑豹队」的", ParsedQuery("关于 黑豹队 的", ("黑豹队",))),
        ('他说"你好"吗', ParsedQuery("他说 你好 吗", ("你好",))),
        ('cats -dogs -"two words"', ParsedQuery("cats", (), ("dogs", "two words"))),
        ("苹果 -香蕉 -猫", ParsedQuery("苹果", (), ("香蕉", "猫"))),
        ("languages -C++ -C#", ParsedQuery("languages", (), ("C++", "C#"))),
        ("-only -these", ParsedQuery("only these", notes=(ONLY_EXCLUSIONS,))),
        ('-"only this"', ParsedQuery("only this", notes=(ONLY_EXCLUSIONS,))),
        ("e-mail -5 --flag a - b -v", ParsedQuery("e-mail -5 --flag a - b -v")),
        (
            "auth* Café* aut*",
            ParsedQuery(
                "auth Café aut*",
                (),
                (),
                ("auth", "cafe"),
                (PREFIX_TOO_SHORT.format(prefixes="aut*"),),
            ),
        ),
        ("a**** 黑豹队伍* auth*x", ParsedQuery("a**** 黑豹队伍* auth*x")),
        ('5" disk and 3" drive', ParsedQuery('5" disk and 3" drive')),
        ('a lone " quote', ParsedQuery('a lone " quote')),
        ('"" "..." x', ParsedQuery('"" "..." x')),
        ("a:b & (c | !d) <-> 'e' \\ ; --", ParsedQuery("a:b & (c | !d) <-> 'e' \\ ; --")),
        ("", ParsedQuery("")),
        ("-", ParsedQuery("-")),
    ],
)
def test_what_a_query_asks_for(query: str, expected: ParsedQuery) -> None:
    assert parse_query(query) == expected


@given(st.text(st.sampled_from('ab *-"“”„«»「」黑é1+#\n')) | st.text())
def test_no_query_is_an_error_and_none_loses_its_words(query: str) -> None:
    parsed = parse_query(query)
    assert parsed.text == " ".join(parsed.text.split())
    kept = "".join(prepare(" ".join([parsed.text, *parsed.excluded])).running.split())
    assert sorted(kept) == sorted("".join(prepare(query).running.split()))
    assert not parsed.excluded or prepare(parsed.text).running
    for phrase in parsed.phrases:
        assert phrase in parsed.text
