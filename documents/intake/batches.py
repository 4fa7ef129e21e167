"""Uploads of several documents: no two different ones under the same source."""

from documents.errors import BadFile

from . import originals
from .submissions import Submission, identity


class SameSourceTwice(BadFile):
    code = "same_source_twice"


class OnePerSource:
    """Remembers the sources that one request or command has accepted."""

    def __init__(self) -> None:
        self.digests: dict[str, str] = {}

    def check(self, submission: Submission) -> None:
        """Raise SameSourceTwice for other bytes under a known source, which would replace the
        first. Repeating the same bytes is allowed."""
        source_uri = identity(submission)
        if not source_uri:
            return
        submission.content.seek(0)
        digest = originals.digest_of(submission.content)
        if self.digests.setdefault(source_uri, digest) != digest:
            raise SameSourceTwice(
                f"Another file of this batch is already {source_uri!r}: give each a source_uri "
                "of its own."
            )
