"""Find sentences that cannot be understood without the previous one."""

from functools import cache

import regex

# Words that refer back at the start of a sentence, by language.
OPENERS = {
    "en": (
        "it its he his she her they their them this these those that such both neither either "
        "here there another others"
    ),
    "de": (
        "er sie es ihr ihre ihrer ihren sein seine seiner seinen dieser diese dieses diesem "
        "diesen dies jener jene jenes solche solcher dort dabei dadurch damit darin dafür "
        "beide"
    ),
    "es": (
        "él ella ello ellos ellas este esta esto estos estas ese esa eso esos esas su sus "
        "aquel aquella aquellos aquellas ambos ambas"
    ),
    "fr": (
        "il elle ils elles ce cet cette ces cela ceci celui celle ceux celles son sa ses leur leurs"
    ),
    "it": (
        "egli ella esso essa essi esse lui lei loro questo questa questi queste quello quella "
        "quelli quelle suo sua suoi sue ciò entrambi"
    ),
    "pt": (
        "ele ela eles elas este esta isto estes estas esse essa isso esses essas seu sua seus "
        "suas aquele aquela ambos"
    ),
    "nl": ("hij zij ze het hun haar zijn deze dit dat die"),
    "ru": ("он она оно они его её ее их этот эта это эти тот та те такой такая такие там"),
    "ar": ("هو هي هم هن هما هذا هذه ذلك تلك هؤلاء هناك"),
    "pl": ("on ona ono oni one jego jej ich ten ta to te ci taki"),
    "tr": ("o onlar bu bunlar şu onun onların bunun"),
    "sv": ("han hon den det de hans hennes dess deras denna detta dessa"),
}
# Beginnings of sentences in scripts without spaces.
BEGINNINGS = {
    "zh": ("他", "她", "它", "这", "那", "该", "此", "其", "這", "該"),
    "ja": ("これ", "それ", "この", "その", "彼", "こう", "そう", "ここ", "そこ"),
    "ko": ("그", "이것", "이는", "이러한"),
}
_FIRST_WORD = regex.compile(r"[^\p{L}\p{N}]*([\p{L}\p{M}]+)")


def opens_with_pronoun(sentence: str, language: str) -> bool:
    """Unknown languages are treated as English."""
    if beginnings := BEGINNINGS.get(language):
        return sentence.lstrip(" \t\n\"'“「『（(").startswith(beginnings)
    first = _FIRST_WORD.match(sentence)
    return bool(first) and first[1].casefold() in _openers(language)


@cache
def _openers(language: str) -> frozenset[str]:
    return frozenset(OPENERS.get(language, OPENERS["en"]).split())
