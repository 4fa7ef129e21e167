"""Generate small valid files of every format, for benchmarks and for the fuzzer."""

import io
import random
import zipfile
import zlib
from typing import Any

WORDS = (
    "harbour",
    "master",
    "opens",
    "gates",
    "morning",
    "every",
    "year",
    "mooring",
    "costs",
    "twelve",
    "crowns",
    "night",
    "boat",
    "light",
    "tower",
    "granite",
    "quarter",
    "revenue",
    "market",
    "report",
    "energy",
    "process",
    "method",
    "result",
    "section",
    "growth",
    "figure",
    "public",
    "service",
    "design",
    "model",
    "country",
    "small",
    "work",
    "before",
    "after",
    "first",
    "second",
    "general",
)
XLSX_TYPES = "application/vnd.openxmlformats-officedocument.spreadsheetml"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def prose(characters: int, *, seed: int = 0) -> str:
    chance = random.Random(seed)  # noqa: S311
    words: list[str] = []
    length = 0
    while length < characters:
        word = chance.choice(WORDS)
        words.append(word + "." if chance.random() < 0.08 else word)
        length += len(words[-1]) + 1
    return " ".join(words)


def pdf(*, pages: int = 2, lines: int = 50, ballast: int = 0) -> bytes:
    """Return pages of prose; `ballast` is the size in bytes of a picture that no page shows."""
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    picture = _stream(_noise(ballast))
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", font, picture]
    kids = []
    for number in range(pages):
        words = prose(lines * 88, seed=number).split(" ")
        rows = [" ".join(words[at : at + 13]) for at in range(0, len(words), 13)][:lines]
        shown = " ".join(f"({row}) Tj T*" for row in rows)
        content = zlib.compress(f"BT /F1 10 Tf 12 TL 50 780 Td {shown} ET".encode())
        objects.append(_stream(content, b" /Filter /FlateDecode"))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>" % len(objects)
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (pages, b" ".join(kids))
    return _numbered(objects)


def _stream(content: bytes, entries: bytes = b"") -> bytes:
    head = b"<< /Length %d%s >>\nstream\n" % (len(content), entries)
    return head + content + b"\nendstream"


def _numbered(objects: list[bytes]) -> bytes:
    out = bytearray(b"%PDF-1.4\n")
    places = []
    for number, content in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size, start = len(objects) + 1, len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, table)
    out += b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, start)
    return bytes(out)


def markdown(number: int, *, characters: int = 3000) -> str:
    parts = [f"---\ntitle: Note {number}\ntags: [notes]\n---\n\n# Note {number}\n"]
    for section in range(4):
        text = prose(characters // 4, seed=10 * number + section)
        parts.append(f"## Part {section}\n\n{text}\n\n- one *item*\n- another `item`\n")
    parts.append("| a | b |\n| --- | --- |\n| 1 | 2 |\n\n```python\nprint('light')\n```\n")
    return "\n".join(parts)


def docx(*, ballast: int = 0) -> bytes:
    from docx import Document

    document = Document()
    document.add_heading("Tower", 1)
    document.add_paragraph(prose(400))
    document.add_paragraph("One item", style="List Bullet")
    table = document.add_table(rows=3, cols=2)
    for index, cell in enumerate(table._cells):
        cell.text = f"cell {index}"
    if ballast:
        from docx.opc.packuri import PackURI
        from docx.opc.part import Part

        uri, package = PackURI("/word/media/picture.bin"), document.part.package
        picture = Part(uri, "application/octet-stream", _noise(ballast), package)
        document.part.relate_to(picture, f"{RELATIONS}/image")
    return _saved(document)


def pptx(*, ballast: int = 0) -> bytes:
    from pptx import Presentation

    deck = Presentation()
    for number in (1, 2):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = f"Part {number}"
        slide.placeholders[1].text = prose(300, seed=number)
        slide.notes_slide.notes_text_frame.text = "Remember the lights."
    if ballast:
        from pptx.opc.package import Part
        from pptx.opc.packuri import PackURI

        uri, package = PackURI("/ppt/media/picture.bin"), deck.part.package
        picture = Part(uri, "application/octet-stream", package, _noise(ballast))
        deck.part.relate_to(picture, f"{RELATIONS}/image")
    return _saved(deck)


def _saved(document: Any) -> bytes:
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def _noise(size: int) -> bytes:
    """Return a picture of random bytes, which cannot be compressed."""
    return random.Random(1).randbytes(size)  # noqa: S311


def picture(format_: str, **options: Any) -> bytes:
    """Return two pages of it, for formats that have pages."""
    from PIL import Image, ImageDraw

    pages = []
    for word in ("Harbour", "Tower"):
        pages.append(Image.new("RGB", (120, 40), "white"))
        ImageDraw.Draw(pages[-1]).text((10, 10), word, fill="black")
    if format_ in ("PDF", "TIFF"):
        options |= {"save_all": True, "append_images": pages[1:]}
    out = io.BytesIO()
    pages[0].save(out, format_, **options)
    return out.getvalue()


def xlsx() -> bytes:
    rows = "".join(
        f'<row r="{n}"><c r="A{n}" t="inlineStr"><is><t>{WORDS[n]}</t></is></c>'
        f'<c r="B{n}"><v>{n}</v></c></row>'
        for n in range(1, 30)
    )
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    return zipped(
        {
            "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types">'
            '<Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{XLSX_TYPES}.sheet.main+xml"/>'
            '<Override PartName="/xl/worksheets/sheet1.xml" '
            f'ContentType="{XLSX_TYPES}.worksheet+xml"/></Types>',
            "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" '
            f'Type="{RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
            "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{RELATIONS}"><sheets>'
            '<sheet name="Lamps" sheetId="1" r:id="r1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
            f'<Relationship Id="r1" Type="{RELATIONS}/worksheet" Target="worksheets/sheet1.xml"/>'
            "</Relationships>",
            "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{rows}</sheetData>'
            "</worksheet>",
        }
    )


def epub() -> bytes:
    chapter = f"<h1>Tower</h1><p>{prose(300)}</p>"
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:'
            'container"><rootfiles><rootfile full-path="p.opf"/></rootfiles></container>',
            "p.opf": '<package xmlns="http://www.idpf.org/2007/opf"><metadata/><manifest><item '
            'id="c" href="c.xhtml" media-type="application/xhtml+xml"/></manifest><spine>'
            '<itemref idref="c"/></spine></package>',
            "c.xhtml": '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>T</title></head>'
            f"<body>{chapter}</body></html>",
        }
    )


def zipped(members: dict[str, str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


HTML = f"""<html lang="en"><head><title>Harbour</title><meta charset="utf-8"></head><body>
<nav><a href="/">Home</a></nav><article><h1 id="top">Harbour</h1><p>{prose(400)}</p>
<h2 id="fees">Fees</h2><ul><li>One</li><li>Two</li></ul><table><tr><th>a</th><th>b</th></tr>
<tr><td>1</td><td>2</td></tr></table><pre><code class="language-python">x = 1</code></pre>
<p>{prose(300, seed=3)}</p></article></body></html>"""
EML = (
    "From: a@example.com\r\nTo: b@example.com\r\nSubject: =?utf-8?q?Granit=C3=A9?=\r\n"
    "Date: Mon, 06 Jan 2025 10:00:00 +0000\r\nMIME-Version: 1.0\r\n"
    'Content-Type: multipart/mixed; boundary="x"\r\n\r\n'
    f"--x\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n{prose(200)}\r\n"
    f"--x\r\nContent-Type: text/html\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n"
    "<p>The =C3=A9tage</p>\r\n--x\r\nContent-Type: image/png; name=a.png\r\n"
    "Content-Transfer-Encoding: base64\r\n\r\niVBORw0KGgo=\r\n--x--\r\n"
)
RST = "Tower\n=====\n\nIt is ``granite``::\n\n    code here\n\nPart\n----\n\n* one\n* two\n"
VTT = "WEBVTT\n\n00:01.000 --> 00:04.000\n<v Anna>The tower\n\n00:04.500 --> 00:06.000\nstands.\n"
SRT = "1\n00:00:01,000 --> 00:00:04,000\nThe tower\n\n2\n00:00:04,500 --> 00:00:06,000\nstands.\n"
CSV = "lamp;lumens;note\n" + "".join(f'Model {n};{n * 10};"a;""b"""\n' for n in range(1, 40))
JSON = '[{"lamp": "A", "lumens": 10, "parts": [{"n": 1}, {"n": 2.5}]}, {"lamp": "B\\u00e9"}]'
JSONL = '{"lamp": "A", "lumens": 10}\n{"lamp": "B", "tags": ["x", "y"]}\n'


def by_name() -> dict[str, bytes]:
    """Return one small file for every format that is read."""
    return {
        "a.md": markdown(1, characters=400).encode(),
        "a.txt": prose(400).encode(),
        "a.rst": RST.encode(),
        "a.html": HTML.encode(),
        "a.pdf": pdf(pages=2, lines=6),
        "a.docx": docx(),
        "a.pptx": pptx(),
        "a.xlsx": xlsx(),
        "a.csv": CSV.encode(),
        "a.json": JSON.encode(),
        "a.jsonl": JSONL.encode(),
        "a.epub": epub(),
        "a.eml": EML.encode(),
        "a.vtt": VTT.encode(),
        "a.srt": SRT.encode(),
        "a.png": picture("PNG"),
        "a.jpg": picture("JPEG"),
        "a.tiff": picture("TIFF", compression="tiff_lzw"),
        "a.webp": picture("WEBP"),
        "b.pdf": picture("PDF"),
    }
