"""Numbers, months and scales as words, in English, German, French and Spanish."""

_NUMBERS = {
    0: "zero null zéro cero",
    1: "one eins ein eine einen einer un une uno una",
    2: "two zwei deux dos",
    3: "three drei trois tres",
    4: "four vier quatre cuatro",
    5: "five fünf cinq cinco",
    6: "six sechs seis",
    7: "seven sieben sept siete",
    8: "eight acht huit ocho",
    9: "nine neun neuf nueve",
    10: "ten zehn dix diez",
    11: "eleven elf onze once",
    12: "twelve zwölf douze doce",
    13: "thirteen dreizehn treize trece",
    14: "fourteen vierzehn quatorze catorce",
    15: "fifteen fünfzehn quinze quince",
    16: "sixteen sechzehn seize dieciséis",
    17: "seventeen siebzehn diecisiete",
    18: "eighteen achtzehn dieciocho",
    19: "nineteen neunzehn diecinueve",
    20: "twenty zwanzig vingt veinte",
    30: "thirty dreißig trente treinta",
    40: "forty vierzig quarante cuarenta",
    50: "fifty fünfzig cinquante cincuenta",
    60: "sixty sechzig soixante sesenta",
    70: "seventy siebzig setenta",
    80: "eighty achtzig ochenta",
    90: "ninety neunzig noventa",
    100: "hundred hundert cent cien",
    1000: "thousand tausend mille mil",
}
NUMBERS = {word: number for number, words in _NUMBERS.items() for word in words.split()}

_MONTHS = """
    january jan januar janvier enero ene
    february feb februar février févr fevrier febrero
    march mar märz maerz mars marzo
    april apr avril abril abr
    may mai mayo
    june jun juni juin junio
    july jul juli juillet juil julio
    august aug août aout agosto ago
    september sep sept septembre septiembre
    october oct oktober okt octobre octubre
    november nov novembre noviembre
    december dec dezember dez décembre dec diciembre dic
"""
MONTHS = {
    word: number
    for number, line in enumerate(_MONTHS.strip().splitlines(), 1)
    for word in line.split()
}

SCALES = {
    "thousand": 1_000, "tausend": 1_000, "k": 1_000,
    "million": 1_000_000, "millions": 1_000_000, "millionen": 1_000_000, "mio": 1_000_000,
    "millón": 1_000_000, "millones": 1_000_000, "m": 1_000_000, "mn": 1_000_000,
    "billion": 10**9, "billions": 10**9, "bn": 10**9, "milliarde": 10**9, "milliarden": 10**9,
    "mrd": 10**9, "milliard": 10**9, "milliards": 10**9,
    "trillion": 10**12,
}  # fmt: skip

# Units of durations, sizes and distances, as singular stems.
UNITS = {
    "second": ("time", 1), "sekunde": ("time", 1), "seconde": ("time", 1), "segundo": ("time", 1),
    "minute": ("time", 60), "minuto": ("time", 60),
    "hour": ("time", 3600), "stunde": ("time", 3600), "heure": ("time", 3600),
    "hora": ("time", 3600),
    "day": ("days", 1), "tag": ("days", 1), "tage": ("days", 1), "jour": ("days", 1),
    "día": ("days", 1), "week": ("days", 7), "woche": ("days", 7), "semaine": ("days", 7),
    "semana": ("days", 7),
    "month": ("months", 1), "monat": ("months", 1), "monate": ("months", 1), "moi": ("months", 1),
    "mois": ("months", 1), "mes": ("months", 1), "mese": ("months", 1),
    "year": ("months", 12), "jahr": ("months", 12), "jahre": ("months", 12), "an": ("months", 12),
    "année": ("months", 12), "año": ("months", 12),
}  # fmt: skip


def unit_of(word: str) -> tuple[str, int] | None:
    """Return the measure that a unit word belongs to, and its size in the smallest unit."""
    word = word.lower()
    return UNITS.get(word) or UNITS.get(word.rstrip("s")) or UNITS.get(word.rstrip("n"))
