"""Files to load, and what is submitted with every one of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from django.core.files.base import ContentFile

from documents.chunking.methods import ChunkingOptions
from documents.intake.folder_sync import submission_of
from documents.intake.folders import FoundFile
from documents.intake.submissions import OnDuplicate, Submission

WINDOW_FILES = 100
WINDOW_BYTES = 4_000_000  # of the files of a window, which are held in memory


@dataclass(frozen=True, slots=True)
class FileOptions:
    tags: tuple[str, ...] | None = None
    collection: str = ""
    rows_as_facts: bool | None = None
    on_duplicate: OnDuplicate = "skip"
    encoding: str = ""
    chunking: ChunkingOptions | None = None

    def applied_to(self, submission: Submission) -> Submission:
        return replace(
            submission,
            tags=self.tags,
            collection=self.collection,
            rows_as_facts=self.rows_as_facts,
            on_duplicate=self.on_duplicate,
            encoding=self.encoding,
            chunking=self.chunking,
        )


def windows(files: Sequence[FoundFile]) -> Iterator[list[FoundFile]]:
    """Divide the files; one that is larger than a window is alone in its own."""
    window: list[FoundFile] = []
    size = 0
    for file in files:
        own = _size(file)
        if window and (len(window) == WINDOW_FILES or size + own > WINDOW_BYTES):
            yield window
            window, size = [], 0
        window.append(file)
        size += own
    if window:
        yield window


def total_bytes(files: Sequence[FoundFile]) -> int:
    return sum(map(_size, files))


def _size(file: FoundFile) -> int:
    try:
        return file.path.stat().st_size
    except OSError:  # whoever opens it says so
        return 0


def opened(file: FoundFile, options: FileOptions) -> Submission:
    """Read the file. Raises OSError."""
    content = ContentFile(file.path.read_bytes(), name=file.name)
    return options.applied_to(submission_of(file, content))
