"""Words for the index: as typed and by parts, the same in text and query, exact in the original."""

import pytest
import regex
from django.db import connections
from hypothesis import given, settings
from hypothesis import strategies as st

from documents.text.folding import DOT, folded
from documents.text.lexemes import analysed, prepare, word_spans

from ..linear_time import assert_grows_linearly

ODD_CHARACTERS = "aZ9_-.'’/:@+#,&· éßİıЙё́ﷺ½ͺ黑豹ｶﾞー한ส้ำहि\u00ad\u200d\ufeff\u0640\x00\ud800٣๒😀"
odd_text = st.text(st.sampled_from(ODD_CHARACTERS)) | st.text()


def letters(text: str) -> str:
    return regex.sub(rf"[^\p{{L}}\p{{N}}]|{DOT}", "", text)


def indexed(text: str) -> set[str]:
    words = prepare(text)
    return {*words.running.split(), *words.extras.split()}


def asked(text: str) -> set[str]:
    words = prepare(text, query=True)
    return {*words.running.split(), *words.extras.split()}


@pytest.mark.parametrize(
    ("text", "running", "extras"),
    [
        ("ERR_CONN_42", "err conn 42", "errconn42"),
        ("kebab-case", "kebab case", "kebabcase"),
        ("v2.1.3", "v2 1 3", "2ꞏ1ꞏ3"),
        ("C++ C# F# C++11", "cplusplus csharp fsharp cplusplus 11", ""),
        (".NET ASP.NET", "net asp net", "dotnet aspnet"),
        ("getUserById", "getuserbyid", "get user by id"),
        ("HTTPServer", "httpserver", "http server"),
        ("miRNAs", "mirnas", "mi rnas"),
        ("foo.bar.baz", "foo bar baz", "foobarbaz"),
        ("user@example.com", "user example com", "examplecom userexamplecom"),
        ("/etc/hosts", "etc hosts", "etchosts"),
        ("x86_64", "x86 64", "86 x8664"),
        ("3.14", "3 14", "3ꞏ14"),
        ("3.5GB", "3 5gb", "gb 3ꞏ5 3ꞏ5gb"),
        ("10,000", "10 000", "10000"),
        ("O'Brien", "o brien", "obrien"),
        ("don't Tesla’s we'll", "don tesla we", ""),
        ("R&D", "r d", "rd"),
        ("Café ﬁle ＡＢＣ Straße İstanbul", "cafe file abc strasse istanbul", ""),
        ("Ёлка, за́мок, йод", "елка замок йод", ""),
        ("مُحَمَّد ١٢٣", "محمد 123", ""),
        ("हिन्दी", "हिन्दी", ""),
        ("ex\u00adample", "example", ""),
        ("iPhone手机", "iphone 手 机", "phone 手机"),
        ("ｶﾞﾗｽ", "ガ ラ ス", "ガラ ラス"),
        ("한국어 책", "한 국 어 책", "한국 국어"),
        ("a + b -- * \x00 \ud800 😀", "a b", ""),
        ("", "", ""),
    ],
)
def test_words_of_a_text(text: str, running: str, extras: str) -> None:
    words = prepare(text)
    assert (words.running, words.extras) == (running, extras)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("err conn 42", "ERR_CONN_42"),
        ("errconn42", "ERR_CONN_42"),
        ("getuserbyid", "getUserById"),
        ("user id", "getUserById"),
        ("node js", "nodejs"),
        ("node.js", "node js"),
        ("node.js", "nodejs"),
        ("nodejs", "Node.js"),
        ("python 3", "python3"),
        ("2.1.3", "v2.1.3"),
        ("v2.1.3", "2.1.3"),
        ("3.14", "python-3.14"),
        ("10000", "10,000"),
        ("c++", "C++,"),
        ("covid 19", "COVID-19"),
        ("email", "e-mail"),
        ("wi fi", "WiFi"),
        ("cafe", "CAFÉ"),
        ("naïve", "nai\u0308ve"),
        ("O Brien", "O’Brien"),
        ("tcpip", "TCP/IP"),
    ],
)
def test_a_query_finds_what_is_written_otherwise(query: str, text: str) -> None:
    assert asked(query) & indexed(text)
    assert asked(text) >= indexed(text)


def test_version_numbers_are_not_mixed_up() -> None:
    assert "2ꞏ13" in indexed("v2.13")
    assert not {"2ꞏ13", "213"} & indexed("v2.1.3")


def test_only_short_queries_have_neighbours_joined() -> None:
    assert "nodejs" in asked("how to node js")
    assert "nodejs" not in asked("how do I install node js on a server")
    assert "nodejs" not in indexed("node js")


@given(odd_text)
@settings(max_examples=500)
def test_spans_are_exact_and_words_are_those_of_the_index(text: str) -> None:
    found = list(analysed(text))
    assert [(word.text, word.start, word.end) for word in found] == list(word_spans(text))
    assert prepare(text).running == " ".join(word.text for word in found if not word.extra)
    assert prepare(text).extras == " ".join(word.text for word in found if word.extra)
    for word in found:
        assert word.text == word.text.strip().lower() != ""
        assert 0 <= word.start < word.end <= len(text)
        written = text[word.start : word.end]
        if not set(written) & set("+#'’") and word.text != "dotnet":
            assert letters(folded(written))[:100] == letters(word.text)[:100]
    starts = [word.start for word in found if not word.extra]
    assert starts == sorted(set(starts))


@given(odd_text)
@settings(max_examples=500)
def test_running_words_stay_what_they_are(text: str) -> None:
    running = prepare(text).running
    assert prepare(running).running == running


@given(odd_text)
def test_folding_twice_folds_no_further(text: str) -> None:
    assert folded(folded(text)) == folded(text)


@given(st.lists(st.sampled_from(["ERR_CONN_42", "黑豹队", "café", "x"]), max_size=5))
def test_a_text_has_the_running_words_of_its_parts(parts: list[str]) -> None:
    together = prepare(" ".join(parts)).running.split()
    assert together == [word for part in parts for word in prepare(part).running.split()]


@pytest.mark.parametrize(
    "piece",
    ["a", "A", "aB", "a.", "1.", "_", "a_", "黑", "'", "é", "+", "a++", "1,", "\u00ad", "/:"],
)
def test_any_long_text_takes_linear_time(piece: str) -> None:
    words = prepare(piece * 30_000)
    assert_grows_linearly(prepare, piece * 7500, piece * 30_000)
    assert all(len(word.encode()) < 2046 for word in (words.running + words.extras).split())


@pytest.fixture
def lexemes(database: None):
    def of(text: str, configuration: str = "simple") -> dict[str, list[int]]:
        with connections["owner"].cursor() as cursor:
            cursor.execute(
                "SELECT lexeme, positions FROM unnest(to_tsvector(%s::regconfig, %s))",
                [configuration, text],
            )
            return dict(cursor.fetchall())

    return of


@pytest.mark.parametrize(
    "text",
    [
        "ERR_CONN_42 getUserById v2.1.3 C++ .NET x86_64 3.14 1e5 0x1F 007 -5 10,000",
        "user@example.com https://example.com/a.html?b=c&d=e /etc/hosts <b>bold</b> &amp; a.b",
        "Café Straße naïve İstanbul ½ ² ①",
        "黑豹队的防守 コンピューター 한국어 สวัสดี น้ำ ພາສາລາວ ខ្មែរ မြန်မာ",
        "Ёлка йод ЗАЩИТА Ελλάδα ΣΊΣΥΦΟΣ नमस्ते हिन्दी தமிழ் العربية עברית հայերեն ქართული",
    ],
)
def test_postgresql_takes_each_word_for_one_plain_word(text: str, lexemes) -> None:
    words = prepare(text)
    found = lexemes(f"{words.running} {words.extras}")
    assert set(found) == indexed(text)
    in_order = words.running.split()
    assert all(
        in_order[place - 1] == word
        for word in found
        for place in found[word][:1]
        if place <= len(in_order)
    )


def test_postgresql_matches_phrases_over_running_words_and_never_over_extras(lexemes) -> None:
    words = prepare("We saw ERR_CONN_42 in 黑豹队的防守 today.")
    with connections["owner"].cursor() as cursor:
        for phrase, matches in [
            ("saw err_conn_42 in", True),
            ("conn 42 in", True),
            ("豹队的", True),
            ("防守 today", True),
            ("豹的", False),
            ("today errconn42", False),
        ]:
            cursor.execute(
                "SELECT (to_tsvector('simple', %s) || to_tsvector('simple', 'x') ||"
                " to_tsvector('simple', %s)) @@ phraseto_tsquery('simple', %s)",
                [words.running, words.extras, prepare(phrase).running],
            )
            assert cursor.fetchone() == (matches,), phrase


def test_postgresql_takes_words_of_any_length_and_texts_with_zeros(lexemes) -> None:
    found = lexemes(prepare("𝒳" * 5000 + " \x00 " + "龍" * 3 + " " + "é" * 5000).running)
    assert max(len(word) for word in found) == 255
    assert "龍" in found


@given(odd_text)
@settings(max_examples=200, deadline=None)
def test_postgresql_never_refuses_prepared_text(database: None, text: str) -> None:
    words = prepare(text)
    with connections["owner"].cursor() as cursor:
        cursor.execute(
            "SELECT to_tsvector('english', %s), to_tsvector('simple', %s)",
            [words.running, words.extras],
        )
