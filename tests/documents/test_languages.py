"""Languages: told apart where there is enough to tell, and never guessed."""

import subprocess
import sys

import pytest
from django.db import connections
from hypothesis import given, settings
from hypothesis import strategies as st

from documents.text.languages import CONFIGURATIONS, configuration, detect

from ..linear_time import cpu_seconds

SENTENCES = {
    "ar": "هذه جملة مكتوبة باللغة العربية وفيها كلمات كثيرة.",
    "da": "Dette er en dansk sætning med nogle få ord, som ikke er svære at forstå.",
    "de": "Das ist ein deutscher Satz mit einigen Wörtern.",
    "el": "Αυτή είναι μια ελληνική πρόταση.",
    "en": "This is an English sentence with a couple of words in it.",
    "es": "Esta es una frase española con algunas palabras.",
    "fa": "این یک جمله فارسی است و چند کلمه دارد.",
    "fi": "Tämä on suomenkielinen lause.",
    "fr": "Ceci est une phrase française avec quelques mots.",
    "he": "זה משפט בעברית עם כמה מילים.",
    "hi": "यह एक हिंदी वाक्य है।",
    "hu": "Ez egy magyar nyelvű mondat.",
    "it": "Questa è una frase in italiano con alcune parole.",
    "ja": "これは日本語の文章です。東京は大きい都市です。",
    "ko": "이것은 한국어 문장입니다.",
    "nl": "Dit is een Nederlandse zin met een paar woorden.",
    "no": "Dette er en norsk setning med noen få ord, og den er ikke vanskelig å forstå.",
    "pl": "To jest zdanie w języku polskim.",
    "pt": "Esta é uma frase em português com algumas palavras.",
    "ru": "Это предложение на русском языке.",
    "sv": "Detta är en svensk mening med några ord.",
    "th": "นี่คือประโยคภาษาไทย",
    "tr": "Bu Türkçe bir cümledir ve birkaç kelime içerir.",
    "uk": "Це речення українською мовою.",
    "zh": "黑豹队的防守只丢了308分，在联赛中排名第六，领先 NFL。",
}


@pytest.mark.parametrize("language", SENTENCES)
def test_a_sentence_is_enough(language: str) -> None:
    assert detect(SENTENCES[language]) == language


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Invoice",
        "heart attack",
        "1 2 3 4.5 6,7 8 9",
        "| id | qty |\n|---|---|\n| A-1 | 3 |\n| B-2 | 7 |",
        '{"id": 3, "name": "x", "tags": ["a", "b"]}',
        "SELECT id, name FROM users WHERE age > 21 LIMIT 10;",
        "https://example.com/a/b?c=d",
        "2024-01-15 12:00:01 ERROR conn_42 refused 10.0.0.1:5432",
        "\x00\ud800 😀",
    ],
)
def test_what_is_no_prose_has_no_language(text: str) -> None:
    assert detect(text) == ""


def test_prose_in_another_language_than_its_code_keeps_its_language() -> None:
    code = "```python\ndef get(self, x):\n    return self.items[x]\n```\n"
    assert detect(code + SENTENCES["de"] * 3) == "de"


@given(st.text())
@settings(max_examples=200, deadline=None)
def test_no_text_is_an_error_and_the_answer_never_changes(text: str) -> None:
    assert detect(text) == detect(text)
    assert len(detect(text)) in (0, 2)


def test_a_long_text_takes_no_longer_than_its_sample() -> None:
    short, long = SENTENCES["en"] * 1000, SENTENCES["en"] * 100_000

    def ten_times(text: str) -> None:
        for _ in range(10):
            assert detect(text) == "en"

    detect(long)  # the first one loads the model
    assert cpu_seconds(lambda: ten_times(long)) < 5 * cpu_seconds(lambda: ten_times(short))


def test_the_model_is_loaded_by_the_first_text_that_needs_it() -> None:
    code = (
        "import sys, documents.text.languages as l; assert 'py3langid' not in sys.modules;"
        "assert l.detect('黑豹队') == 'zh'; assert 'py3langid' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_configuration_is_in_a_stock_postgresql(database: None) -> None:
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT cfgname FROM pg_ts_config")
        stock = {name for (name,) in cursor.fetchall()}
    assert stock - {"simple", "estonian", "polish", "esperanto"} == set(CONFIGURATIONS.values())


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("de", "german"),
        ("nb", "norwegian"),
        ("zh", "simple"),
        ("th", "simple"),
        ("pl", "simple"),
        ("", "english"),
        ("xx", "simple"),
    ],
)
def test_configuration_of_a_language(language: str, expected: str) -> None:
    assert configuration(language) == expected
