"""Find sentences about their own page: they say where an answer is, but do not give it."""

import regex

_PLACES = (
    r"page|section|document|documentation|guide|handbook|manual|chapter|article|policy|runbook|"
    r"tutorial|part|appendix|list|table|readme|faq|notes?|topic|overview|reference"
)
_ABOUT_ITSELF = regex.compile(
    r"[\W_]*(this|the following|the present|the next|in this|on this) "
    rf"({_PLACES})s?\b[^.]{{0,40}}?\b("
    r"explain|describe|cover|show|list|say|set|contain|outline|introduce|discuss|detail|provide|"
    r"tell|summari[sz]e|document|present|assume|guide|walk|you(['’]ll| will| can)? (find|learn)|"
    r"is about|is for)",
    regex.IGNORECASE,
)
_IN_OTHER_LANGUAGES = regex.compile(
    r"[\W_]*(dies(er|e|es) (seite|abschnitt|dokument|anleitung|handbuch|kapitel) (beschreib|erklär|"
    r"zeig)|est[ae] (página|sección|documento|guía|manual) (explica|describe|muestra)|cett?e? "
    r"(page|section|document|guide) (explique|décrit|présente))",
    regex.IGNORECASE,
)


def is_about_itself(sentence: str) -> bool:
    return bool(_ABOUT_ITSELF.match(sentence) or _IN_OTHER_LANGUAGES.match(sentence))
