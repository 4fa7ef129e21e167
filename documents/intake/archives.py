"""Zip archives of documents: each file inside becomes a separate document."""

import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePosixPath
from typing import BinaryIO, cast
from zipfile import ZipFile, ZipInfo

from django.conf import settings
from django.core.files.base import ContentFile

from documents.errors import BadFile, IngestError, NoText
from documents.extractors.archives import check_zip, read_member
from documents.intake.media_types import is_archive

from .submissions import Submission, identity

MAX_MEMBERS = 500
CLUTTER = frozenset({"__macosx", "thumbs.db", "desktop.ini"})


class NestedArchive(BadFile):
    code = "nested_archive"


def expanded(submission: Submission) -> Iterator[tuple[Submission, IngestError | None]]:
    """Yield the submission itself or, for an archive, one submission per file inside.

    Each comes with the error that keeps it from being accepted, if there is one. The source of a
    file inside is "archive!/path/inside".
    """
    if not is_archive(submission.file_name, submission.media_type):
        yield submission, None
        return
    try:
        archive = check_zip(cast(BinaryIO, submission.content), max_members=MAX_MEMBERS)
    except IngestError as error:
        yield submission, error
        return
    with archive:
        members = [member for member in archive.infolist() if _is_wanted(member)]
        if not members:
            yield submission, NoText("The archive contains no files.")
        for member in members:
            yield _opened(submission, archive, member)


def _opened(
    submission: Submission, archive: ZipFile, member: ZipInfo
) -> tuple[Submission, IngestError | None]:
    path = safe_path(member.filename)
    inner = replace(
        submission,
        content=ContentFile(b""),
        file_name=PurePosixPath(path).name,
        media_type="",
        source_uri=f"{identity(submission)}!/{path}",
        title=None,
    )
    if is_archive(path, ""):
        return inner, NestedArchive("Archives inside archives are not opened.")
    try:
        # By entry, not by name: an archive may hold two files of the same name.
        content = read_member(archive, member, limit=settings.INGEST_MAX_BYTES)
    except IngestError as error:
        return inner, error
    return replace(inner, content=ContentFile(content)), None


def _is_wanted(member: ZipInfo) -> bool:
    """Skip folders, links, hidden files and files that operating systems add."""
    parts = PurePosixPath(safe_path(member.filename)).parts
    is_link = stat.S_ISLNK(member.external_attr >> 16)
    is_clutter = any(part.startswith(".") or part.lower() in CLUTTER for part in parts)
    return bool(parts) and not (member.is_dir() or is_link or is_clutter)


def safe_path(path: str) -> str:
    """Return a relative path with forward slashes: no drive, root, parent or control characters."""
    path = "".join(character for character in path if character.isprintable())
    parts = [part.strip() for part in path.replace("\\", "/").split("/")]
    if parts and len(parts[0]) == 2 and parts[0][1] == ":":
        parts = parts[1:]
    return "/".join(part for part in parts if part not in ("", ".", ".."))
