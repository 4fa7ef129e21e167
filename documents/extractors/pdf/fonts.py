"""Recognise bold and italic fonts of a PDF by their names."""

import re
from functools import lru_cache

FORCE_BOLD = 1 << 18  # a flag in a font's description
# Includes the names of TeX: CMBX10 is bold, CMTI10 italic, NimbusRomNo9L-Medi bold.
BOLD = re.compile(rb"(?i)bold|black|heavy|demi|-bd|bd$|^(?:cm|sf|ec)b|-medi(?:$|ital)")
ITALIC = re.compile(rb"(?i)ital|obli|slanted|^(?:cm|sf|ec)(?:ti|bxti|sl)")
SUBSET = re.compile(rb"^[A-Z]{6}\+")  # the prefix of a font of which only a part is embedded


@lru_cache(maxsize=1024)
def style_of(name: bytes, force_bold: bool) -> tuple[bool, bool]:
    """Whether letters of this font are bold, and whether they are italic."""
    name = SUBSET.sub(b"", name)
    return force_bold or bool(BOLD.search(name)), bool(ITALIC.search(name))
