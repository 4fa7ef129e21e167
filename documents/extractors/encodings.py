"""Determine the encoding of a text: as declared, else by its marks, else by its letters."""

import codecs
import re
from collections import Counter
from dataclasses import dataclass

from chardetng_py import EncodingDetector

from documents.text.languages import detect_with_certainty

SAMPLE_BYTES = 64 * 1024  # enough to guess from
WESTERN = "cp1252"

# Labels mean what they mean to browsers: Latin-1 is cp1252, its extension by Windows.
MEANT = {
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
}
# chardetng returns WHATWG labels; Python has other names for some of them.
PYTHON_NAMES = {"windows-874": "cp874", "x-mac-cyrillic": "mac_cyrillic", "iso-8859-8-i": "cp1255"}
NOT_TEXT_ENCODINGS = frozenset({"idna", "punycode", "unicode_escape", "raw_unicode_escape"})
LATIN = frozenset({"cp1250", "cp1252", "cp1254", "cp1257", "cp1258", "iso8859-2", "iso8859-4"})

# Other encodings of languages in Latin script, and their letters beyond ASCII.
CENTRAL = ("cp1250", "iso8859-2")
ALPHABETS: dict[str, tuple[tuple[str, ...], str]] = {
    "bs": (CENTRAL, "čćđšž"),
    "cs": (CENTRAL, "áčďéěíňóřšťúůýž"),
    "hr": (CENTRAL, "čćđšž"),
    "hu": (CENTRAL, "áéíóöőúüű"),
    "lt": (("cp1257",), "ąčęėįšųūž"),
    "lv": (("cp1257",), "āčēģīķļņšūž"),
    "pl": (CENTRAL, "ąćęłńóśźż"),
    "ro": (CENTRAL, "âăîşţ"),
    "sk": (CENTRAL, "áäčďéíĺľňóôŕšťúýž"),
    "sl": (CENTRAL, "čšž"),
    "sq": (("cp1252",), "çë"),
    "tr": (("cp1254",), "çğıîöşüâİ"),
    "vi": (("cp1258",), ""),
}
WESTERN_LANGUAGES = frozenset(
    [
        "af",
        "br",
        "ca",
        "cy",
        "da",
        "de",
        "en",
        "es",
        "et",
        "eu",
        "fi",
        "fo",
        "fr",
        "ga",
        "gl",
        "id",
        "is",
        "it",
        "lb",
        "ms",
        "nb",
        "nl",
        "nn",
        "no",
        "oc",
        "pt",
        "sv",
        "sw",
    ]
)
SURE = 0.6  # minimum probability of the language to overrule the first guess
CERTAIN = 0.95  # the same, to assume an encoding older than Windows
MIN_LETTERS = 12
PROSE = re.compile(r"(?<![\w%{}(./@-])[^\W\d_]{2,}(?![\w%{}(/@])")

# Letters in Mac OS and DOS encodings; rare characters or none in cp1252.
C1_LETTERS = re.compile(rb"[\x81-\x83\x86-\x90\x98-\x9f]")
BEFORE_WINDOWS = ("mac_roman", "cp850")
WESTERN_LETTERS = frozenset(
    "àâäãåæçéèêëíìîïñóòôöõøœúùûüýÿßÀÂÄÃÅÆÇÉÈÊËÍÌÎÏÑÓÒÔÖÕØŒÚÙÛÜÝ«»“”‘’–—…°§€£"
)
MARKS = frozenset("„”“‚’‘‹›«»–—…§°€ \u00a0")  # common in every Latin encoding
KANA = re.compile("[\u3041-\u30ff]")

MIN_WIDE_BYTES = 8
PLAIN_BLOCKS = frozenset({0x00, 0x20})  # high bytes of ASCII and Latin-1, and of punctuation
CJK_BLOCKS = frozenset({*range(0x4E, 0xA0), *range(0xAC, 0xD8), 0x30, 0xFF})


@dataclass(frozen=True, slots=True)
class Declared:
    """A declared encoding: `binding` if the uploader chose it, otherwise a hint from a header."""

    encoding: str
    binding: bool = False


def encoding_named(label: str) -> str:
    """Return Python's codec for a label such as "latin1" or "Shift_JIS"; "" for unknown labels and
    codecs that are not text encodings."""
    plain = label.strip().strip("\"'").lower()
    plain = PYTHON_NAMES.get(plain, plain.removesuffix("-i").removesuffix("-e"))
    try:
        name = codecs.lookup(plain).name
        "".encode(name)  # raises for codecs that are not text encodings: base64, zip, …
    except (LookupError, UnicodeError, ValueError):
        return ""
    return "" if name in NOT_TEXT_ENCODINGS else MEANT.get(name, name)


def guess(sample: bytes) -> str:
    """Return the most likely encoding of bytes that are not UTF-8 and have no mark."""
    if special := guess_wide(sample) or _before_windows(sample) or _japanese(sample):
        return special
    encoding = _detected(sample)
    few_clues = _has_few_clues(sample)
    if encoding not in LATIN and not few_clues:
        return encoding
    for reading in dict.fromkeys((WESTERN, encoding)):
        language, certainty = _language(sample.decode(reading, errors="replace"))
        if certainty < SURE:
            continue
        if language in WESTERN_LANGUAGES:
            return WESTERN
        if language in ALPHABETS:
            return _by_alphabet(sample, *ALPHABETS[language])
    return WESTERN if few_clues and encoding in LATIN else encoding


def _has_few_clues(sample: bytes) -> bool:
    """Whether there is only one non-ASCII letter, a common one: too little for statistics."""
    high = _beyond_ascii(sample, WESTERN)
    letters = [character for character in high if character.isalpha()]
    return len(letters) < 2 and 4 * len(high) < len(sample) and WESTERN_LETTERS.issuperset(letters)


def _detected(sample: bytes) -> str:
    detector = EncodingDetector()
    detector.feed(sample, last=True)
    return encoding_named(detector.guess(tld=None, allow_utf8=False)) or WESTERN


def _by_alphabet(sample: bytes, encodings: tuple[str, ...], letters: str) -> str:
    """Return the encoding that gives the fewest letters that the language does not have."""

    def foreign(encoding: str) -> int:
        text = _beyond_ascii(sample, encoding).lower()
        return sum(character not in letters and character not in MARKS for character in text)

    return min((*encodings, WESTERN), key=foreign)


def _beyond_ascii(sample: bytes, encoding: str) -> str:
    return bytes(byte for byte in sample if byte > 0x7F).decode(encoding, errors="replace")


def _before_windows(sample: bytes) -> str:
    """Recognise Mac OS and DOS encodings of Western languages; "" for anything else."""
    high = bytes(byte for byte in sample if byte > 0x7F)
    if not high or 2 * len(C1_LETTERS.findall(high)) < len(high):
        return ""

    best = max(BEFORE_WINDOWS, key=lambda encoding: sum(map(str.islower, high.decode(encoding))))
    letters = sum(character in WESTERN_LETTERS for character in high.decode(best))
    if 10 * letters < 9 * len(high):
        return ""
    language, certainty = _language(sample.decode(best))
    return best if language in WESTERN_LANGUAGES and certainty > CERTAIN else ""


def _japanese(sample: bytes) -> str:
    """Recognise Shift-JIS among many ASCII words, where letter statistics fail."""
    try:
        text = codecs.getincrementaldecoder("cp932")().decode(sample)
    except UnicodeDecodeError:
        return ""
    beyond_ascii = sum(not character.isascii() for character in text)
    return "cp932" if 3 * len(KANA.findall(text)) > beyond_ascii > 1 else ""


def _language(text: str) -> tuple[str, float]:
    """Return the most likely language and its probability; "" for very few letters."""
    prose = " ".join(PROSE.findall(text[:4000]))
    if len(prose) < MIN_LETTERS:
        return "", 0.0
    return detect_with_certainty(prose)


def guess_wide(sample: bytes) -> str:
    """Recognise UTF-16 and UTF-32 without a mark; "" for anything else."""
    whole = sample[: len(sample) // 4 * 4]
    if len(whole) < MIN_WIDE_BYTES and len(sample) % 2 == 0:
        whole = sample
    if not whole:
        return ""
    for codec in ("utf-32-le", "utf-32-be"):
        if len(whole) % 4 == 0 and _reads_as_text(whole, codec) is not None:
            return codec
    fits = {codec: _wide_fit(whole, codec) for codec in ("utf-16-le", "utf-16-be")}
    best = max(fits, key=lambda codec: fits[codec])
    return best if fits[best] > 0 else ""


def _reads_as_text(data: bytes, codec: str) -> str | None:
    try:
        text = codecs.getincrementaldecoder(codec)().decode(
            data
        )  # the sample may end within a character
    except UnicodeDecodeError:
        return None
    readable = all(c.isprintable() or c.isspace() or c in "\ufeff\u200b\u00ad" for c in text)
    return text if readable and text else None


def _wide_fit(data: bytes, codec: str) -> float:
    """Score how well the codec fits: 0 if not at all, otherwise higher for fewer alphabets."""
    text = _reads_as_text(data, codec)
    if text is None:
        return 0
    blocks = Counter(ord(character) >> 8 for character in text)
    common = sum(count for _, count in blocks.most_common(1))
    plain = sum(blocks[block] for block in PLAIN_BLOCKS)
    alphabet = max((n for block, n in blocks.items() if block not in PLAIN_BLOCKS), default=0)
    if 2 * plain > len(text):
        return 2
    # Letters of one alphabet, with ordinary spaces and digits between them.
    if b"\x00" in data and 20 * (plain + alphabet) >= 19 * len(text):
        return 1 + (plain + alphabet) / len(text) / 2
    cjk = sum(count for block, count in blocks.items() if block in CJK_BLOCKS | PLAIN_BLOCKS)
    has_marks = any(mark in text for mark in "。、，\u3000 \n")
    if len(data) >= 2 * MIN_WIDE_BYTES and 50 * cjk >= 49 * len(text) and has_marks:
        return common / len(text)
    return 0
