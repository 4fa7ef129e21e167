"""Open zip archives and parse the XML in them safely, for EPUB and the Office formats."""

import io
import struct
import zipfile
import zlib
from lzma import LZMAError
from typing import BinaryIO
from xml.etree.ElementTree import Element
from xml.etree.ElementTree import ParseError as XmlError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from documents.errors import DecompressionBomb, EmptyFile, Encrypted, ParseError, XmlForbidden
from documents.extractors.base import size_of

MEGABYTE = 1024 * 1024
MAX_MEMBERS = 2000
MAX_TOTAL = 200 * MEGABYTE
MAX_RATIO = 200
RATIO_MATTERS_FROM = MEGABYTE  # a small file of blanks shrinks a thousandfold: harmless
MAX_ENTRY_BYTES = 1024  # of the archive's directory, on average per member

END_RECORD = b"PK\x05\x06"
END_RECORD_REACH = 22 + 65535  # bytes: the record itself and the longest comment after it
ZIP64 = 0xFFFFFFFF
ENCRYPTED_FLAG = 0x1
XML = (".xml", ".rels", ".vml")

# Raised by zipfile and its decompressors for damaged members.
DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    LZMAError,
    struct.error,
    EOFError,
    NotImplementedError,
    OSError,
    ValueError,
    OverflowError,
)


def check_zip(
    file: BinaryIO,
    *,
    max_members: int = MAX_MEMBERS,
    max_total: int = MAX_TOTAL,
    max_ratio: int = MAX_RATIO,
) -> zipfile.ZipFile:
    """Open the archive if its directory declares nothing excessive.

    Only the directory is checked, and a directory may lie, so use `read_member` to read members.
    """
    size = size_of(file)
    if not size:
        raise EmptyFile("The file is empty: it has no bytes at all.")
    _check_directory_size(file, size, max_members=max_members)
    try:
        archive = zipfile.ZipFile(file)
    except (*DAMAGE, RuntimeError) as error:
        raise ParseError("The file is not a readable zip archive.") from error
    members = archive.infolist()
    if len(members) > max_members:
        raise DecompressionBomb(f"The archive holds more than {max_members} files.")
    total, packed = sum(m.file_size for m in members), sum(m.compress_size for m in members)
    if total > max_total:
        megabytes = max_total // MEGABYTE
        raise DecompressionBomb(f"The archive unpacks to more than {megabytes} MB.")
    if packed > size:  # members that share bytes are counted once and unpacked many times
        raise DecompressionBomb("The files in the archive overlap.")
    pairs = [(total, packed), *((m.file_size, m.compress_size) for m in members)]
    if any(_is_excessive(*pair, max_ratio) for pair in pairs):
        raise DecompressionBomb(f"The archive unpacks to more than {max_ratio} times its size.")
    return archive


def _check_directory_size(file: BinaryIO, size: int, *, max_members: int) -> None:
    """Limit the directory, because zipfile reads all of it whatever it says about its length."""
    file.seek(max(0, size - END_RECORD_REACH))
    tail = file.read()
    end = tail.rfind(END_RECORD)
    if end < 0 or end + 22 > len(tail):
        raise ParseError("The file is not a readable zip archive.")
    (directory,) = struct.unpack_from("<I", tail, end + 12)
    if directory != ZIP64 and directory > max_members * MAX_ENTRY_BYTES:
        raise DecompressionBomb(f"The archive holds more than {max_members} files.")


def _is_excessive(size: int, packed: int, max_ratio: int) -> bool:
    return size > RATIO_MATTERS_FROM and size > max_ratio * packed


def read_member(
    archive: zipfile.ZipFile, name: str | zipfile.ZipInfo, limit: int = MAX_TOTAL
) -> bytes:
    """Return one member, of at most `limit` bytes whatever the directory says."""
    if isinstance(name, str):
        try:
            member = archive.getinfo(name)
        except KeyError as error:
            raise ParseError(f"The archive lacks {name[:200]!r}.") from error
    else:
        member, name = name, name.filename
    if member.flag_bits & ENCRYPTED_FLAG:
        raise Encrypted("The archive is protected by a password.")
    try:
        with archive.open(member) as stream:
            content = stream.read(limit + 1)
    except (*DAMAGE, RuntimeError) as error:
        raise ParseError(f"{name[:200]!r} in the archive is damaged.") from error
    if len(content) > limit:
        raise DecompressionBomb(f"{name[:200]!r} in the archive is larger than {limit} bytes.")
    return content


def without_media(file: BinaryIO) -> BinaryIO:
    """Return the archive, or a copy in which large members other than XML are empty."""
    archive = zipfile.ZipFile(file)
    media = {m.filename for m in archive.infolist() if not m.filename.lower().endswith(XML)}
    if sum(archive.getinfo(name).file_size for name in media) <= MEGABYTE:
        file.seek(0)
        return file
    copy = io.BytesIO()
    with zipfile.ZipFile(copy, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as lean:
        for name in dict.fromkeys(archive.namelist()):
            lean.writestr(name, b"" if name in media else read_member(archive, name))
    copy.seek(0)
    return copy


def parse_xml(content: bytes, *, name: str = "") -> "Element":
    """Parse XML without entities, external references or anything else from a document type."""
    try:
        root: Element = fromstring(content, forbid_dtd=False)
    except DefusedXmlException as error:
        raise XmlForbidden(f"{name or 'The XML'} declares entities; they are not read.") from error
    except (XmlError, LookupError, ValueError, RecursionError) as error:
        raise ParseError(f"{name or 'The XML'} is not well-formed XML.") from error
    return root
