"""The metadata of a PDF: a usable title, its authors and programs, its dates."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from documents.extractors.cleaning import clean
from documents.extractors.lines import tidy
from documents.extractors.pdf.title import is_boilerplate
from documents.extractors.writer import MAX_TITLE_CHARACTERS

MAX_VALUE_CHARACTERS = 2000
DATE = re.compile(
    r"(?:D:)?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:([Zz])|([+-])(\d\d)'?(\d\d)?)?"
)
NO_TITLE = re.compile(
    r"(?i)(?:untitled(?: \w+)?|unknown|title|document|slide|none|null|\(anonymous\))\W*\d*$"
    r"|microsoft (?:word|powerpoint|excel)\b"
    r"|.*\.(?:docx?|pdf|pptx?|xlsx?|indd|tex|dvi|rtf|odt|qxd)$"
    r"|[a-z]:\\|(?:file:|/)\S|\W*$"
)
FIELDS = ("Author", "Subject", "Keywords", "Creator", "Producer")
DATES: Mapping[str, str] = {"CreationDate": "created", "ModDate": "modified"}


def title_of(value: str) -> str:
    title = tidy(clean(value[:MAX_VALUE_CHARACTERS]))
    if NO_TITLE.match(title) or is_boilerplate(title) or _is_a_number(title):
        return ""
    return title[:MAX_TITLE_CHARACTERS]


def _is_a_number(title: str) -> bool:
    """Whether it is only a number, such as that of a filing: 0000764478-23-000006."""
    digits = sum(map(str.isdigit, title))
    return " " not in title and digits * 2 > len(title)


def metadata_of(info: Mapping[str, str]) -> dict[str, Any]:
    found = {key.lower(): tidy(clean(info.get(key, "")[:MAX_VALUE_CHARACTERS])) for key in FIELDS}
    found |= {name: _iso(info.get(key, "")) for key, name in DATES.items()}
    return {name: value for name, value in found.items() if value}


def _iso(value: str) -> str:
    """Convert "D:20101204143835+01'00'" to 2010-12-04T14:38:35+01:00; "" if it is not a date."""
    match = DATE.match(value.strip())
    if not match:
        return ""
    year, month, day, hour, minute, second, zulu, sign, hours, minutes = match.groups()
    date = f"{year}-{month or '01'}-{day or '01'}"
    time = f"T{hour}:{minute or '00'}:{second or '00'}" if hour else ""
    zone = "+00:00" if zulu else f"{sign}{hours}:{minutes or '00'}" if sign else ""
    try:
        moment = datetime.fromisoformat(f"{date}{time}{zone if time else ''}")
    except ValueError:
        return ""
    return moment.isoformat() if time else moment.date().isoformat()
