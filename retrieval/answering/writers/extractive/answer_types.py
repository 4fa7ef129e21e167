"""What kind of answer a question asks for, and whether a sentence has one."""

from typing import Literal

import regex

AnswerType = Literal["duration", "rhythm", "time", "number", "name", "steps"]

# How questions begin, in the most common languages. If two match at the same position, the first in
# this list counts.
_ASKED: tuple[tuple[AnswerType, regex.Pattern[str]], ...] = (
    ("duration", regex.compile(r"\b(how long|wie lange)\b(?! ago)", regex.IGNORECASE)),
    ("rhythm", regex.compile(r"\b(how (often|frequently)|wie oft)\b", regex.IGNORECASE)),
    (
        "steps",
        regex.compile(
            r"\bhow (do|can|should|must|could) (i|we|you|one)\b|\bhow to\b|"
            r"\bwhat (do|should|must|can) (i|we|you|one) do\b|"
            r"\bwie (kann|muss|soll) (ich|man|wir)\b",
            regex.IGNORECASE,
        ),
    ),
    (
        "time",
        regex.compile(
            r"\b(when|(what|which) (year|date|day|month|decade|century|time)|how old|"
            r"wann|in welchem jahr|seit wann|cu[aá]ndo|en qu[eé] a[nñ]o|quand|"
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
    r"\b(january|february|march|april|may|june|july|august|september|october|november|december|"
    r"monday|tuesday|wednesday|thursday|friday|"
    r"saturday|sunday|century|centuries|decades?|years?|months?|weeks?|days?|hours?|minutes?|daily|"
    r"weekly|monthly|yearly|annually|januar|februar|märz|mai|juni|juli|oktober|dezember|"
    r"jahr\w*|tage?n?|wochen?|monate?n?|enero|febrero|marzo|abril|mayo|junio|julio|agosto|"
    r"septiembre|octubre|noviembre|diciembre|años?|siglo|días?|janvier|février|mars|avril|juin|"
    r"juillet|août|septembre|octobre|novembre|décembre|ans?|siècle|года?|году|лет|век[ае]?|"
    r"عام|سنة)\b|年|月|世纪",
    regex.IGNORECASE,
)
_UNIT = (
    r"(seconds?|minutes?|hours?|days?|nights?|weeks?|months?|quarters?|years?|decades?|centuries|"
    r"sekunden?|minuten?|stunden?|tage?n?|wochen?|monate?n?|jahre?n?)"
)
_DURATION = regex.compile(
    r"(\p{Nd}|[½¼¾]|\b(an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|"
    r"twenty|thirty|sixty|half|few|several|many|ein\w*|zwei|drei|vier|fünf|sechs|zehn))"
    rf"[\s-]([\p{{L}}'’-]+\s)?{_UNIT}\b|\b(forever|indefinitely|permanently|until|unlimited)\b|"
    r"\b\p{Nd}+ ?(ms|s|min|h|d)\b",
    regex.IGNORECASE,
)
_RHYTHM = regex.compile(
    r"\b(every|each|once|twice|times|daily|weekly|monthly|quarterly|yearly|annual\w*|hourly|never|"
    r"always|regular\w*|intervals?|(a|per) (second|minute|hour|day|week|month|quarter|year)|"
    r"jede\w*|täglich|wöchentlich|monatlich|jährlich|einmal|zweimal)\b",
    regex.IGNORECASE,
)
# Actors without a name.
_ROLE = regex.compile(
    r"\b(manager|director|engineer|head of|lead|leader|supervisor|team|department|officer|owner|"
    r"administrator|admin|board|committee|staff|employees?|colleagues?|desk|secretary|president|"
    r"contact|primary|secondary|members?|customers?|users?|anyone|everyone|nobody)s?\b",
    regex.IGNORECASE,
)
# Where something is, or whom to contact: paths, addresses, steps through a menu.
_ADDRESS = regex.compile(r"[~\w.]*[/\\][\w.\-]+[/\\]|\bhttps?://|\b[\w.+\-]+@\w|→")
# How an instruction begins, after the marker or number of a list item.
_INSTRUCTION = regex.compile(
    r"\A\s*\(?\p{Nd}+[.)]\s|```|\byou (first )?(must|should|need to|have to)\b|"
    r"(\A|[.:]\s|\bthen |\bfirst,? |\bplease )[\s*_`>\-+\d.)(]*"
    r"(to [a-z]+ |in order to |if you (want|need) |you (can|must|should|need to|have to|may) |"
    r"(use|send|create|add|run|set|enter|open|press|hold|choose|select|click|write|call|ask|go|"
    r"install|start|stop|restart|check|report|tell|pack|try|turn|remove|delete|update|download|"
    r"make|take|put|pass|provide|specify|configure|enable|disable|submit|request|contact|"
    r"exchange|attach|obtain|log|sign|visit|copy|move|edit|save|export|import|apply|follow|"
    r"fill|complete|get|give|keep|return|change|register|connect|unplug|plug|restore|exclude)\b)",
    regex.IGNORECASE,
)
_BEFORE_PART = regex.compile(r"([,;?.]|\b(and|or|und|oder|y|et|e))\s+\Z", regex.IGNORECASE)
_ASKS_FOR_FIRST = regex.compile(
    r"\bfirst( of all| thing| step)?\b(?=\W*\Z| (in|when|if|to|after|during|do)\b|,)|"
    r"\bbegin with\b|\bstart with\b|\bzuerst\b|\bals erstes\b|\bprimero\b|\bd'abord\b",
    regex.IGNORECASE,
)
# A capital letter inside a sentence: names, in scripts that have capitals.
_NAME = regex.compile(
    r"(?<=[\p{Ll}\p{Nd},;:)\"”'’]\s|[\(\"“«]|\.\s)\p{Lu}[\p{L}\p{M}'’.-]+"
    r"(?:\s\p{Lu}[\p{L}\p{M}'’-]+)*"
    r"|\A\p{Lu}[\p{Ll}\p{M}]+\s\p{Lu}[\p{Ll}]+"
)


def answer_types(question: str) -> frozenset[AnswerType]:
    """Return the first kind in the question, and the kinds that begin another part of it."""
    found = [(match.start(), kind) for kind, p in _ASKED if (match := p.search(question))]
    if not found:
        return frozenset()
    first = min(found, key=lambda each: each[0])
    parts = [each for each in found if _BEFORE_PART.search(question, 0, each[0])]
    return frozenset(kind for at, kind in (first, *parts) if at != first[0] or kind == first[1])


def asks_for_first(question: str) -> bool:
    """Whether the question asks for the first of several steps."""
    return bool(_ASKS_FOR_FIRST.search(question))


_OFFERED: dict[AnswerType, tuple[regex.Pattern[str], ...]] = {
    "duration": (_DURATION,),
    "rhythm": (_RHYTHM,),
    "time": (_TIME,),
    "number": (_FIGURE, _NUMBER_WORD),
    "name": (_NAME, _ROLE, _ADDRESS),
    "steps": (_INSTRUCTION,),
}


def offers(text: str, kind: AnswerType, *, question: str) -> bool:
    """Whether the text has something of this kind that is not in the question."""
    folded = question.casefold()
    return any(
        match[0].casefold() not in folded
        for pattern in _OFFERED[kind]
        for match in pattern.finditer(text)
    )
