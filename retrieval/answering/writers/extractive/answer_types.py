"""What kind of answer a question asks for, and whether a sentence has one to give."""

from typing import Literal

import regex

AnswerType = Literal["time", "number", "name"]

# How questions open, in the languages that are asked most. The first pattern that matches counts.
_ASKED: tuple[tuple[AnswerType, regex.Pattern[str]], ...] = (
    (
        "time",
        regex.compile(
            r"\b(when|(what|which) (year|date|day|month|decade|century|time)|how (long|old|often)|"
            r"wann|in welchem jahr|wie lange|seit wann|cu[aá]ndo|en qu[eé] a[nñ]o|quand|"
            r"en quelle ann[eé]e|quando|in che anno|em que ano|wanneer|когда|в каком году|متى)\b"
            r"|什么时候|什麼時候|何时|何時|哪一?年|几月|いつ|何年",
            regex.IGNORECASE,
        ),
    ),
    (
        "number",
        regex.compile(
            r"\b(how (many|much|far|tall|large|big|high|deep|wide|fast|heavy|hot|cold|few)|"
            r"(what|which) (number|percent\w*|amount|proportion|share|size|price|cost|rate)|"
            r"wie ?viele?|wie (hoch|gro[sß]+|weit|teuer)|cu[aá]nt[oa]s?|combien|quant[ioae]|"
            r"quant[oa]s|hoeveel|сколько|كم)\b|多少|几个|いくつ|何人|何個",
            regex.IGNORECASE,
        ),
    ),
    (
        "name",
        regex.compile(
            r"\b(who|whom|whose|where|(what|which) (person|country|city|state|company|team|"
            r"university|player|artist|king|president)|what (is|was) the name|wer|wem|wen|wo|woher|"
            r"wohin|qui[eé]n(es)?|d[oó]nde|qui|o[uù]|chi|dove|quem|onde|wie|waar|кто|кем|кого|где|"
            r"من|أين|اين)\b|谁|誰|哪里|哪裡|どこ|だれ",
            regex.IGNORECASE,
        ),
    ),
)
_FIGURE = regex.compile(
    r"\p{Nd}+(?:[.,:/\-–]\p{Nd}+)*|[½⅓⅔¼¾]|[一二三四五六七八九十百千万億亿]++[年月日个人]"
)
_NUMBER_WORD = regex.compile(
    r"\b(one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand|"
    r"million|billion|half|twice|once|zwei|drei|vier|f[uü]nf|sechs|sieben|acht|neun|zehn|"
    r"dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|deux|trois|quatre|cinq|"
    r"два|две|три|четыре|пять)\b",
    regex.IGNORECASE,
)
_TIME = regex.compile(
    r"\b(1\p{Nd}{3}|20\p{Nd}{2})s?\b|\b\p{Nd}{1,2}(st|nd|rd|th)\b|"
    r"\b(january|february|march|april|may|june|july|august|september|october|november|december|monday|tuesday|wednesday|thursday|friday|"
    r"saturday|sunday|century|centuries|decades?|years?|months?|weeks?|days?|hours?|minutes?|daily|"
    r"weekly|monthly|yearly|annually|januar|februar|märz|mai|juni|juli|oktober|dezember|"
    r"jahr\w*|tage?n?|wochen?|monate?n?|enero|febrero|marzo|abril|mayo|junio|julio|agosto|"
    r"septiembre|octubre|noviembre|diciembre|años?|siglo|días?|janvier|février|mars|avril|juin|"
    r"juillet|août|septembre|octobre|novembre|décembre|ans?|siècle|года?|году|лет|век[ае]?|"
    r"عام|سنة)\b|年|月|世纪",
    regex.IGNORECASE,
)
# A capital letter inside a sentence: names, in scripts that have capitals.
_NAME = regex.compile(
    r"(?<=[\p{Ll}\p{Nd},;:)\"”'’]\s|[\(\"“«]|\.\s)\p{Lu}[\p{L}\p{M}'’.-]+"
    r"|\A\p{Lu}[\p{Ll}\p{M}]+\s\p{Lu}[\p{Ll}]+"
)


def answer_type(question: str) -> AnswerType | None:
    return next((kind for kind, pattern in _ASKED if pattern.search(question)), None)


def offers(text: str, kind: AnswerType, *, question: str) -> bool:
    """Whether the text has something of this kind that the question does not say itself."""
    said = question.casefold()
    if kind == "time":
        found = _TIME.finditer(text)
    elif kind == "number":
        found = (m for pattern in (_FIGURE, _NUMBER_WORD) for m in pattern.finditer(text))
    else:
        found = _NAME.finditer(text)
    return any(match[0].casefold() not in said for match in found)
