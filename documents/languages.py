"""Which language a text is in, and which PostgreSQL text search configuration suits it."""

UNSURE = ""
SIMPLE = "simple"

# The Snowball configurations of a stock PostgreSQL 16 to 18 (estonian came with 18 only).
CONFIGURATIONS = {
    "ar": "arabic",
    "ca": "catalan",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "eu": "basque",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "nb": "norwegian",
    "ne": "nepali",
    "nl": "dutch",
    "nn": "norwegian",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}


def configuration(language: str) -> str:
    """The configuration to stem with; "english" for text whose language is not known."""
    if language == UNSURE:
        return "english"
    return CONFIGURATIONS.get(language, SIMPLE)


def detect(text: str) -> str:
    """ISO 639-1 code, or "" when unsure."""
    return UNSURE
