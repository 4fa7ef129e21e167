"""Sentences that the server adds to an answer, in the reader's language."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Phrases:
    not_enough: str  # there is not enough information
    missing: str  # {missing}: what is missing
    about: str  # {words}: words of the question that no passage mentions
    disagree: str  # {values}: quoted values with their citations


PHRASES = {
    "en": Phrases(
        "The documents do not hold enough information to answer this.",
        "What is missing: {missing}.",
        "anything about {words}",
        "Note that the sources disagree: {values}.",
    ),
    "de": Phrases(
        "Die Dokumente enthalten nicht genug Informationen, um das zu beantworten.",
        "Es fehlt: {missing}.",
        "Angaben zu {words}",
        "Die Quellen widersprechen sich: {values}.",
    ),
    "fr": Phrases(
        "Les documents ne contiennent pas assez d’informations pour répondre.",
        "Il manque : {missing}.",
        "des indications sur {words}",
        "Les sources se contredisent : {values}.",
    ),
    "es": Phrases(
        "Los documentos no contienen información suficiente para responder.",
        "Falta: {missing}.",
        "datos sobre {words}",
        "Las fuentes no coinciden: {values}.",
    ),
    "it": Phrases(
        "I documenti non contengono informazioni sufficienti per rispondere.",
        "Manca: {missing}.",
        "indicazioni su {words}",
        "Le fonti non concordano: {values}.",
    ),
    "pt": Phrases(
        "Os documentos não contêm informação suficiente para responder.",
        "Falta: {missing}.",
        "dados sobre {words}",
        "As fontes não concordam: {values}.",
    ),
    "nl": Phrases(
        "De documenten bevatten niet genoeg informatie om dit te beantwoorden.",
        "Er ontbreekt: {missing}.",
        "gegevens over {words}",
        "De bronnen spreken elkaar tegen: {values}.",
    ),
    "pl": Phrases(
        "Dokumenty nie zawierają wystarczających informacji, aby odpowiedzieć.",
        "Brakuje: {missing}.",
        "danych o {words}",
        "Źródła są sprzeczne: {values}.",
    ),
    "ru": Phrases(
        "В документах недостаточно информации для ответа.",
        "Не хватает: {missing}.",
        "сведений о {words}",
        "Источники расходятся: {values}.",
    ),
    "ar": Phrases(
        "لا تحتوي المستندات على معلومات كافية للإجابة.",
        "ما ينقص: {missing}.",
        "معلومات عن {words}",
        "المصادر غير متفقة: {values}.",
    ),
    "zh": Phrases(
        "文档中没有足够的信息来回答这个问题。",
        "缺少：{missing}。",
        "关于{words}的信息",
        "来源不一致：{values}。",
    ),
    "ja": Phrases(
        "文書には回答に十分な情報がありません。",
        "不足している情報：{missing}。",
        "{words}に関する情報",
        "情報源が一致していません：{values}。",
    ),
}


def phrases_for(language: str) -> Phrases:
    return PHRASES.get(language, PHRASES["en"])


def not_enough_information(missing: str, *, language: str) -> str:
    phrases = phrases_for(language)
    if not missing:
        return phrases.not_enough
    return f"{phrases.not_enough} {phrases.missing.format(missing=missing.rstrip('.'))}"


def about_words(words: Sequence[str], *, language: str) -> str:
    """Say what is missing, by the words of the question; "" without any."""
    if not words:
        return ""
    quoted = ", ".join(f"“{word}”" for word in words)
    return phrases_for(language).about.format(words=quoted)
