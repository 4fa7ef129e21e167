"""The extractor of each media type, named by dotted path and imported with the first file of its
kind, so that only the sandbox worker loads the libraries.
"""

from dataclasses import dataclass
from functools import cache
from importlib import import_module

from documents.errors import UnsupportedType
from documents.extractors.base import Extractor
from documents.extractors.plain import source_code

OFFICE = "application/vnd.openxmlformats-officedocument"
OPEN_DOCUMENT = "application/vnd.oasis.opendocument"


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file, as far as it can be described without importing its extractor."""

    source_type: str  # short name of the kind: "md", "txt", …
    extractor: str  # dotted path of the class
    arguments: tuple[str, ...] = ()  # for the extractor's constructor
    is_harmless: bool = False  # read by our own bounded code, outside the sandbox
    holds_pictures: bool = False  # may contain pictures of text, which need OCR
    has_rows: bool = False  # the file is one table, whose rows can become facts


# What people call each kind; `source_type` is what programs call it.
KIND_NAMES = {
    "code": "Source code",
    "config": "Configuration",
    "csv": "CSV",
    "docx": "Word",
    "eml": "E-mail",
    "epub": "EPUB",
    "html": "HTML",
    "image": "Image",
    "ipynb": "Notebook",
    "json": "JSON",
    "md": "Markdown",
    "msg": "Outlook e-mail",
    "odf": "OpenDocument",
    "org": "Org",
    "pdf": "PDF",
    "pptx": "PowerPoint",
    "rst": "reStructuredText",
    "rtf": "RTF",
    "transcript": "Transcript",
    "txt": "Text",
    "web": "Web page",
    "xlsx": "Excel",
    "xml": "XML",
}


def kind_name(source_type: str) -> str:
    """The kind in the words of people, such as "Word" for "docx"."""
    return KIND_NAMES.get(source_type, source_type)


def _config(language: str) -> Format:
    return Format("config", "documents.extractors.plain.code.CodeExtractor", (language,))


SPREADSHEET = Format(
    "xlsx", "documents.extractors.office.spreadsheet.SpreadsheetExtractor", has_rows=True
)
OPEN_DOCUMENT_TEXT = Format("odf", "documents.extractors.office.opendocument.OpenDocumentExtractor")
DELIMITED = Format("csv", "documents.extractors.data.delimited.DelimitedExtractor", has_rows=True)
HTML = Format("html", "documents.extractors.html.extractor.HtmlExtractor")
IMAGE = Format("image", "documents.extractors.images.ImageExtractor", holds_pictures=True)
JSON = Format("json", "documents.extractors.data.structured.JsonExtractor")
TRANSCRIPT = Format("transcript", "documents.extractors.plain.transcripts.TranscriptExtractor")

MARKDOWN = Format("md", "documents.extractors.markup.markdown.MarkdownExtractor", is_harmless=True)
RST = Format("rst", "documents.extractors.markup.rst.RstExtractor")

FORMATS: dict[str, Format] = {
    **{
        source_code.media_type(language): Format(
            "code", "documents.extractors.plain.code.CodeExtractor", (language,)
        )
        for language in source_code.SUFFIXES
    },
    "text/markdown": MARKDOWN,
    "text/x-markdown": MARKDOWN,
    "text/plain": Format(
        "txt", "documents.extractors.plain.text.PlainTextExtractor", is_harmless=True
    ),
    "application/pdf": Format(
        "pdf", "documents.extractors.pdf.extractor.PdfExtractor", holds_pictures=True
    ),
    "text/html": HTML,
    "application/xhtml+xml": HTML,
    f"{OFFICE}.wordprocessingml.document": Format(
        "docx", "documents.extractors.office.word.WordExtractor"
    ),
    f"{OFFICE}.presentationml.presentation": Format(
        "pptx", "documents.extractors.office.slides.SlidesExtractor"
    ),
    f"{OFFICE}.spreadsheetml.sheet": SPREADSHEET,
    "application/vnd.ms-excel": SPREADSHEET,
    f"{OPEN_DOCUMENT}.spreadsheet": SPREADSHEET,
    f"{OPEN_DOCUMENT}.text": OPEN_DOCUMENT_TEXT,
    f"{OPEN_DOCUMENT}.presentation": OPEN_DOCUMENT_TEXT,
    "text/csv": DELIMITED,
    "text/tab-separated-values": DELIMITED,
    "application/json": JSON,
    "application/x-ndjson": JSON,
    "application/jsonl": JSON,
    "application/x-ipynb+json": Format(
        "ipynb", "documents.extractors.data.notebook.NotebookExtractor"
    ),
    "application/yaml": _config("yaml"),
    "application/toml": _config("toml"),
    "text/x-ini": _config("ini"),
    "text/x-rst": RST,
    "text/prs.fallenstein.rst": RST,
    "text/x-org": Format("org", "documents.extractors.markup.org.OrgExtractor"),
    "application/xml": Format("xml", "documents.extractors.markup.xml.XmlExtractor"),
    "application/epub+zip": Format("epub", "documents.extractors.html.epub.EpubExtractor"),
    "application/rtf": Format("rtf", "documents.extractors.office.rtf.RtfExtractor"),
    "message/rfc822": Format("eml", "documents.extractors.mail.eml.EmlExtractor"),
    "application/vnd.ms-outlook": Format(
        "msg", "documents.extractors.mail.outlook.OutlookExtractor"
    ),
    "text/vtt": TRANSCRIPT,
    "application/x-subrip": TRANSCRIPT,
    "image/png": IMAGE,
    "image/jpeg": IMAGE,
    "image/tiff": IMAGE,
    "image/webp": IMAGE,
}


def format_of(media_type: str) -> Format:
    """Look up a media type, ignoring parameters such as a charset. Raises UnsupportedType."""
    found = FORMATS.get(media_type.partition(";")[0].strip().lower())
    if found is None:
        raise UnsupportedType(f"Files of type {media_type or 'unknown'} cannot be read here.")
    return found


def extractor_for(media_type: str) -> Extractor:
    """Return the extractor; imports it and its libraries the first time."""
    return _loaded(format_of(media_type))


@cache
def _loaded(kind: Format) -> Extractor:
    module, _, name = kind.extractor.rpartition(".")
    extractor: Extractor = getattr(import_module(module), name)(*kind.arguments)
    return extractor
