"""Originals as files: checked while they stream, limited by type, swept when nobody owns them."""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

import pytest
from django.core.files.base import ContentFile, File
from django.core.files.storage import Storage, default_storage

from documents import housekeeping
from documents.ingestion.extraction import SandboxWorker
from documents.intake import originals
from documents.intake.media_types import BY_SUFFIX
from documents.models import DocumentVersion, Namespace
from evaluation.benchmarks.data import samples
from ragsite.database.tenancy import operator

from ..client import Api

MEGABYTE = 2**20
DATA = b"Twelve lights." * 100_000
DIGEST = hashlib.sha256(DATA).hexdigest()


class RemoteStorage(Storage):
    """As an object store: what it holds has no path."""

    held: ClassVar[dict[str, bytes]] = {}

    def _save(self, name: str, content: File) -> str:
        self.held[name] = content.read()
        return name

    def _open(self, name: str, mode: str = "rb") -> File:
        if name not in self.held:
            raise FileNotFoundError(name)
        return ContentFile(self.held[name])

    def exists(self, name: str) -> bool:
        return name in self.held

    def delete(self, name: str) -> None:
        self.held.pop(name, None)


@pytest.fixture
def remote(settings: Any) -> None:
    settings.STORAGES = {
        **settings.STORAGES,
        "default": {"BACKEND": f"{__name__}.RemoteStorage"},
    }


def stored(tenant: Namespace) -> str:
    return originals.store(ContentFile(DATA), namespace_id=tenant.pk)


def test_an_original_of_this_machine_is_read_where_it_lies(tenant: Namespace):
    key = stored(tenant)
    with originals.opened(key, sha256=DIGEST) as file:
        assert Path(file.name).samefile(default_storage.path(key))
        assert file.read() == DATA


@pytest.mark.usefixtures("remote")
def test_an_original_elsewhere_is_copied_to_a_file_that_has_no_name(
    tenant: Namespace, settings: Any
):
    key = stored(tenant)
    with originals.opened(key, sha256=DIGEST) as file:
        assert os.fstat(file.fileno()).st_nlink == 0
        assert file.read() == DATA
        assert list(Path(settings.FILE_UPLOAD_TEMP_DIR).iterdir()) == []


@pytest.mark.parametrize("kind", ["local", "remote"])
def test_an_original_that_changed_or_went_is_not_read(
    tenant: Namespace, kind: str, request: pytest.FixtureRequest
):
    if kind == "remote":
        request.getfixturevalue("remote")
    key = stored(tenant)
    with (
        pytest.raises(originals.OriginalLost, match="changed"),
        originals.opened(key, sha256="0" * 64),
    ):
        pass
    originals.remove(key)
    with pytest.raises(originals.OriginalLost, match="missing"), originals.opened(key, sha256=""):
        pass


@pytest.mark.usefixtures("remote")
def test_a_document_is_indexed_from_a_remote_storage(api: Api, work: Callable[[], int]):
    answer = api.upload(("a.pdf", samples.pdf()), ("a.md", samples.markdown(1)))
    assert work() == 2
    for result in answer.body["results"]:
        assert api.get(f"documents/{result['document_id']}").body["status"] == "ready"


@pytest.fixture(scope="module")
def worker() -> Iterator[SandboxWorker]:
    worker = SandboxWorker(memory_bytes=2**30, output_bytes=2**27, cpu_seconds=60, wall_seconds=120)
    yield worker
    worker.close()


@pytest.mark.parametrize("name", ["a.pdf", "a.docx", "a.pptx"])
def test_a_larger_file_with_the_same_text_takes_no_more_memory(name: str, worker: SandboxWorker):
    peaks, texts = [], []
    for ballast in (1, 5, 40):
        with tempfile.TemporaryFile() as file:
            file.write(getattr(samples, name[2:])(ballast=ballast * MEGABYTE))
            file.seek(0)
            extracted = worker.extract(file, media_type=BY_SUFFIX[name[1:]], name=name)
        texts.append(extracted.text)
        peaks.append(worker.peak_bytes)
    assert texts[0] == texts[1] == texts[2] != ""
    assert peaks[2] - peaks[1] < 4 * MEGABYTE, peaks


def test_every_type_has_a_limit_of_its_own(api: Api, settings: Any):
    settings.INGEST_MAX_BYTES_BY_TYPE = {"md": 100, "csv": 10_000_000}
    settings.INGEST_MAX_BYTES = 1000
    refused = api.upload(("a.md", "x" * 101))
    assert (refused.status, refused.code) == (413, "too_large")
    assert "type md may have 100 at most" in refused.body["error"]["message"]
    assert api.upload(("a.txt", "x" * 101)).status == 202
    assert api.upload(("a.csv", "x" * 1001)).code == "too_large"  # nothing exceeds the largest
    texts = api.post("ingest", {"documents": [{"content": "y" * 101}, {"content": "y"}]})
    assert [(r["error"] or {}).get("code") for r in texts.body["results"]] == ["too_large", None]


def test_one_bad_file_among_a_hundred_fails_alone(api: Api):
    files = [(f"{n}.md", f"# Note {n}") for n in range(100)]
    files[41] = ("41.pdf", "no pdf at all")
    answer = api.upload(*files)
    assert (answer.status, answer.body["failed"]) == (200, 1)
    bad = [(r["index"], r["error"]["code"]) for r in answer.body["results"] if r["error"]]
    assert bad == [(41, "type_mismatch")]
    assert sum(r["status"] == "queued" for r in answer.body["results"]) == 99


def test_originals_that_no_document_owns_are_swept_after_a_day(tenant: Namespace, api: Api):
    api.upload(("a.md", "# Note"))
    now = datetime.now(UTC).date()
    orphans = {}
    for days in (0, 1, 2, 9):
        folder = originals.folder_of(tenant.pk, now - timedelta(days=days))
        orphans[days] = default_storage.save(f"{folder}/orphan", ContentFile(b"x"))
    with operator():  # one that is old and has an owner
        version = DocumentVersion.objects.get()
        folder = originals.folder_of(tenant.pk, now - timedelta(days=2))
        owned = default_storage.save(f"{folder}/owned", ContentFile(b"x"))
        DocumentVersion.objects.filter(pk=version.pk).update(storage_key=owned)
    housekeeping.tidy()
    left = {days for days, key in orphans.items() if default_storage.exists(key)}
    assert left == {0, 1}
    assert default_storage.exists(owned)


@pytest.mark.parametrize("damage", ["removed", "changed"])
def test_an_original_that_is_not_what_was_uploaded_is_not_indexed(
    damage: str, api: Api, work: Callable[[], int]
):
    receipt = api.upload(("a.md", "# A\n\nText.")).body["results"][0]
    with operator():
        key = DocumentVersion.objects.get().storage_key
    path = Path(default_storage.path(key))
    if damage == "removed":
        path.unlink()
    else:
        path.write_text("# Somebody else's words")
    work()
    document = api.get(f"documents/{receipt['document_id']}").body
    job = api.get(f"jobs/{receipt['job_id']}").body
    assert job["error"]["code"] == "original_lost"
    assert "upload the document again" in job["error"]["message"]
    assert document["chunks_count"] == 0
