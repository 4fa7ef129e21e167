"""pypdf, for files that PDFium cannot open or misreads: ten times slower, but it orders Arabic
correctly."""

from typing import Any, BinaryIO

from documents.errors import BadFile, Encrypted, ParseError
from documents.extractors.cleaning import clean
from documents.extractors.lines import Line
from documents.extractors.pdf.layout import plain_lines

NO_PAGES = "The file is damaged or is no PDF: its pages cannot be found."


class SecondReader:
    """Opens the file when it is first used."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.reader: Any = None

    def count(self) -> int:
        try:
            return len(self._opened().pages)
        except (BadFile, MemoryError):
            raise
        except Exception as error:  # damaged files raise almost anything in pypdf
            raise ParseError(NO_PAGES) from error

    def lines(self, index: int) -> list[Line] | None:
        try:
            text = self._opened().pages[index].extract_text()
        except MemoryError:
            raise
        except Exception:  # as above; other pages may be readable
            return None
        return plain_lines(clean(text))

    def info(self) -> dict[str, str]:
        try:
            found = self._opened().metadata or {}
            return {str(key).lstrip("/"): str(found[key]) for key in found}
        except Exception:  # a document without metadata is still a document
            return {}

    def _opened(self) -> Any:
        from pypdf import (
            PdfReader,
        )  # takes half a second, and few files need it

        if self.reader is None:
            self.reader = PdfReader(self.file)
            if self.reader.is_encrypted and not self.reader.decrypt(""):
                raise needs_password()
        return self.reader


def needs_password() -> Encrypted:
    return Encrypted("The PDF is protected by a password; please bring it without one.")
