"""Taking documents in: what is new, what is known, what is refused, and what comes at once."""

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings as django_settings
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, Storage
from django.db.models import F
from django.test import Client

from documents.intake import intake
from documents.intake.intake import DuplicateContent, Receipt, Submission
from documents.models import Chunk, Document, DocumentVersion, IndexProfile, IngestJob, Namespace
from ragsite.database.tenancy import operator

from ..client import Answer, Api
from ..threads import at_once

HARBOUR = """# Harbour

The harbour has twelve lights. Ships wait outside for the tide 🌊 and the pilot.

## Pilots

A pilot boards every ship longer than fifty metres.

```python
def lights() -> int:
    piers, quay = 10, 2
    for_the_tide = 0
    return piers + quay + for_the_tide
```

## Fees

Fees are due on arrival, and doubled at night.
"""


def stored() -> list[Path]:
    folder = Path(django_settings.HOME) / "storage"
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())


def counts() -> dict[str, int]:
    """Rows of all tenants, and files."""
    with operator():
        found = {
            model.__name__: model.objects.count()
            for model in (Document, DocumentVersion, IngestJob, Chunk)
        }
    return found | {"files": len(stored())}


NOTHING = {"Document": 0, "DocumentVersion": 0, "IngestJob": 0, "Chunk": 0, "files": 0}


def a_text(text: str | bytes, name: str = "harbour.md", **said: Any) -> Submission:
    data = text.encode() if isinstance(text, str) else text
    return Submission(content=ContentFile(data), file_name=name, **said)


def only_result(answer: Answer) -> dict[str, Any]:
    (result,) = answer.body["results"]
    return result


# -- new, known, changed ----------------------------------------------------------


def test_a_new_document_is_queued_then_ready_and_its_chunks_slice_back(
    api: Api, work: Callable[[], int]
):
    answer = api.upload(("harbour.md", HARBOUR))
    result = only_result(answer)
    assert answer.status == 202
    assert (result["status"], result["version"], result["duplicate"]) == ("queued", 1, False)
    path = f"documents/{result['document_id']}"
    assert api.get(path).body["live_version"] is None
    assert api.get(f"{path}/chunks").body["results"] == []

    assert work() == 1
    document = api.get(path).body
    assert (document["status"], document["live_version"], document["error"]) == ("ready", 1, None)
    text = api.get(f"{path}/text").body["text"]
    chunks = api.get(f"{path}/chunks").body["results"]
    assert text == HARBOUR
    assert document["chunks_count"] == len(chunks) >= 3
    assert document["tokens_count"] == sum(chunk["tokens"] for chunk in chunks) > 0
    assert [chunk["ordinal"] for chunk in chunks] == list(range(len(chunks)))
    for chunk in chunks:
        assert text[chunk["span"]["start"] : chunk["span"]["end"]] == chunk["content"]
    assert {"Harbour", "Harbour > Pilots", "Harbour > Fees"} <= {c["section"] for c in chunks}
    (code,) = [chunk for chunk in chunks if chunk["kind"] == "code"]
    assert code["metadata"]["language"] == "python"


def test_the_same_upload_again_is_a_duplicate_and_adds_nothing(api: Api, work: Callable[[], int]):
    first = only_result(api.upload(("harbour.md", HARBOUR)))
    work()
    before = counts()
    answer = api.upload(("harbour.md", HARBOUR))
    again = only_result(answer)
    assert answer.status == 200
    assert (again["duplicate"], again["status"], again["version"]) == (True, "ready", 1)
    assert again["document_id"] == first["document_id"]
    assert again["job_id"] is None
    assert again["chunks_count"] == before["Chunk"] > 0
    assert counts() == before
    assert work() == 0


def test_a_duplicate_of_what_still_waits_points_to_the_waiting_job(api: Api):
    first = only_result(api.upload(("harbour.md", HARBOUR)))
    answer = api.upload(("harbour.md", HARBOUR))
    again = only_result(answer)
    assert answer.status == 202
    assert again["duplicate"] is True
    assert (again["document_id"], again["job_id"]) == (first["document_id"], first["job_id"])
    assert counts()["IngestJob"] == 1


def test_changed_bytes_under_the_same_name_are_version_2_and_only_that_is_found(
    api: Api, work: Callable[[], int]
):
    first = only_result(api.upload(("rules.md", "# Rules\n\nThe walrus must be fed at noon.")))
    work()
    second = only_result(api.upload(("rules.md", "# Rules\n\nThe walrus must be fed at dusk.")))
    assert second["document_id"] == first["document_id"]
    assert (second["version"], second["duplicate"]) == (2, False)
    # Until version 2 is ready, version 1 is what search sees.
    (hit,) = api.query("walrus").body["results"]
    assert (hit["document_version"], "noon" in hit["content"]) == (1, True)
    work()
    (hit,) = api.query("walrus").body["results"]
    assert (hit["document_version"], "dusk" in hit["content"]) == (2, True)
    with operator():
        assert set(Chunk.objects.values_list("version__number", flat=True)) == {2}
        states = DocumentVersion.objects.order_by("number").values_list("state", flat=True)
        assert list(states) == ["superseded", "live"]
    assert len(stored()) == 2  # the older original is still there to be read


def test_going_back_to_older_bytes_is_a_new_version(api: Api, work: Callable[[], int]):
    for number, text in enumerate(("# A\n\nFirst.", "# A\n\nSecond.", "# A\n\nFirst."), start=1):
        result = only_result(api.upload(("a.md", text)))
        assert (result["version"], result["duplicate"]) == (number, False)
        work()
    assert "First." in api.query("First").body["results"][0]["content"]


# -- the duplicate policy -----------------------------------------------------------


def test_the_same_bytes_under_another_name_point_to_the_first(api: Api, work: Callable[[], int]):
    first = only_result(api.upload(("a.md", HARBOUR)))
    work()
    answer = api.upload(("b.md", HARBOUR))
    assert answer.status == 200
    assert only_result(answer)["document_id"] == first["document_id"]
    assert only_result(answer)["duplicate"] is True
    assert counts()["Document"] == counts()["files"] == 1


def test_the_same_bytes_are_kept_twice_on_request(api: Api, work: Callable[[], int]):
    first = only_result(api.upload(("a.md", HARBOUR)))
    second = only_result(api.upload(("b.md", HARBOUR), on_duplicate="keep"))
    assert second["document_id"] != first["document_id"]
    assert second["duplicate"] is False
    assert work() == 2
    assert counts()["Document"] == counts()["files"] == 2


def test_the_same_bytes_are_refused_on_request(api: Api):
    api.upload(("a.md", HARBOUR))
    before = counts()
    answer = api.upload(("b.md", HARBOUR), on_duplicate="error")
    assert (answer.status, answer.code) == (409, "duplicate_content")
    assert "upload:a.md" in answer.body["error"]["message"]
    assert counts() == before


def test_new_bytes_for_a_source_are_taken_even_if_another_source_has_them(api: Api):
    api.upload(("a.md", "# A\n\nAlpha."))
    b = only_result(api.upload(("b.md", "# B\n\nBeta.")))
    changed = only_result(api.upload(("b.md", "# A\n\nAlpha.")))
    assert (changed["document_id"], changed["version"]) == (b["document_id"], 2)
    assert changed["duplicate"] is False


def test_a_duplicate_under_another_name_says_what_was_not_applied(
    api: Api, work: Callable[[], int]
):
    api.upload(("a.md", HARBOUR), tags="sea")
    work()
    same = only_result(api.upload(("b.md", HARBOUR), tags="sea"))
    assert (same["duplicate"], same["updated"], same["warnings"]) == (True, False, [])
    other = only_result(api.upload(("b.md", HARBOUR), tags="sea,port", title="Port"))
    assert (other["duplicate"], other["source_uri"]) == (True, "upload:a.md")
    assert "title, tags" in other["warnings"][0]
    assert api.get(f"documents/{other['document_id']}").body["tags"] == ["sea"]


def test_a_failed_document_uploaded_again_is_tried_again(api: Api, work: Callable[[], int]):
    first = only_result(api.upload(("blank.md", " \n\n ")))
    work()
    document = api.get(f"documents/{first['document_id']}").body
    assert (document["status"], document["error"]["code"]) == ("failed", "no_text")
    again = only_result(api.upload(("blank.md", " \n\n ")))
    assert (again["duplicate"], again["status"], again["version"]) == (False, "queued", 1)
    assert again["job_id"] != first["job_id"]
    assert counts() == {**NOTHING, "Document": 1, "DocumentVersion": 1, "IngestJob": 2, "files": 1}
    # A failure is nothing to point to: the same bytes under another name are their own document.
    work()
    assert only_result(api.upload(("white.md", " \n\n ")))["duplicate"] is False


def test_the_same_bytes_are_indexed_again_under_a_newer_ingestion_version(
    api: Api, work: Callable[[], int], hashing_profile: IndexProfile
):
    first = only_result(api.upload(("a.md", HARBOUR)))
    work()
    with operator():
        IndexProfile.objects.filter(pk=hashing_profile.pk).update(
            ingestion_version=F("ingestion_version") + 1
        )
    again = only_result(api.upload(("a.md", HARBOUR)))
    assert (again["status"], again["version"], again["duplicate"]) == ("queued", 1, False)
    assert work() == 1
    assert api.get(f"documents/{first['document_id']}").body["ingestion_version"] == 3
    assert only_result(api.upload(("a.md", HARBOUR)))["duplicate"] is True
    assert counts()["files"] == counts()["DocumentVersion"] == 1


# -- at once --------------------------------------------------------------------------


def test_32_identical_uploads_at_once_are_one_document_and_one_indexing(
    api: Api, work: Callable[[], int]
):
    def upload(_: int) -> Answer:
        return Api(Client(), api.key).upload(("harbour.md", HARBOUR))

    answers = at_once(32, upload)
    results = [only_result(answer) for answer in answers]
    assert {answer.status for answer in answers} == {202}
    assert len({result["document_id"] for result in results}) == 1
    assert len({result["job_id"] for result in results}) == 1
    assert [result["duplicate"] for result in results].count(False) == 1
    one = {"Document": 1, "DocumentVersion": 1, "IngestJob": 1, "files": 1}
    assert counts() == {**NOTHING, **one}
    assert work() == 1


def test_32_contents_for_one_source_at_once_are_32_versions_without_gaps(
    tenant: Namespace, api: Api, work: Callable[[], int]
):
    def submit(number: int) -> Receipt:
        return intake.accept(tenant.pk, a_text(f"# Tide\n\nTide number{number} is high."))

    receipts = at_once(32, submit)
    assert len({receipt.document_id for receipt in receipts}) == 1
    assert sorted(receipt.version for receipt in receipts) == list(range(1, 33))
    many = {"DocumentVersion": 32, "IngestJob": 32, "files": 32}
    assert counts() == {**NOTHING, "Document": 1, **many}
    assert work() == 1  # the others were superseded while they waited
    newest = next(n for n, receipt in enumerate(receipts) if receipt.version == 32)
    (hit,) = api.query("tide").body["results"]
    assert hit["document_version"] == 32
    assert f"number{newest} " in hit["content"]


def test_the_same_bytes_under_8_names_at_once_are_one_document(tenant: Namespace):
    receipts = at_once(8, lambda n: intake.accept(tenant.pk, a_text(HARBOUR, f"{n}.md")))
    assert len({receipt.document_id for receipt in receipts}) == 1
    assert sorted(receipt.duplicate for receipt in receipts) == [False] + [True] * 7
    assert counts()["Document"] == counts()["IngestJob"] == counts()["files"] == 1


def test_of_8_names_at_once_that_refuse_duplicates_one_gets_in(tenant: Namespace):
    def submit(number: int) -> str:
        try:
            intake.accept(tenant.pk, a_text(HARBOUR, f"{number}.md", on_duplicate="error"))
        except DuplicateContent as error:
            return error.code
        return "taken"

    assert sorted(at_once(8, submit)) == ["duplicate_content"] * 7 + ["taken"]
    assert counts()["Document"] == counts()["files"] == 1


def test_crossed_names_and_contents_at_once_do_not_block_each_other(tenant: Namespace):
    """Every pair of a name and a content: whoever comes, nobody waits in a circle."""

    def submit(number: int) -> Receipt:
        text = f"# Text {number % 4}\n\nWords."
        return intake.accept(tenant.pk, a_text(text, f"{number // 4}.md", on_duplicate="keep"))

    receipts = at_once(16, submit)
    assert len(receipts) == 16
    assert counts()["Document"] == 4
    assert counts()["DocumentVersion"] == counts()["files"]


# -- a disk that gives out ------------------------------------------------------------


class FullStorage(FileSystemStorage):
    """A disk that has room for half of it."""

    def _save(self, name: str, content: Any) -> str:
        super()._save(name, ContentFile(content.read()[:10]))
        raise OSError(errno.ENOSPC, "No space left on device")


class BrokenStorage(FileSystemStorage):
    def _save(self, name: str, content: Any) -> str:
        raise OSError(errno.EIO, "Input/output error at /dev/secret")


def use_storage(settings: Any, backend: type) -> None:
    here = f"{backend.__module__}.{backend.__name__}"
    entry = {**settings.STORAGES["default"], "BACKEND": here}
    settings.STORAGES = {**settings.STORAGES, "default": entry}


def test_a_full_disk_is_said_and_leaves_nothing_behind(api: Api, settings: Any):
    use_storage(settings, FullStorage)
    answer = api.upload(("harbour.md", HARBOUR))
    assert (answer.status, answer.code) == (507, "storage_full")
    assert counts() == NOTHING


def test_a_broken_disk_is_our_fault_and_leaves_nothing_behind(api: Api, settings: Any):
    use_storage(settings, BrokenStorage)
    answer = api.upload(("harbour.md", HARBOUR))
    assert (answer.status, answer.code) == (503, "storage_unavailable")
    assert "secret" not in str(answer.body)
    assert counts() == NOTHING


def test_a_full_disk_does_not_hide_what_was_known_already(api: Api, settings: Any):
    first = api.upload(("harbour.md", HARBOUR)).body["results"][0]
    use_storage(settings, FullStorage)
    answer = api.upload(("harbour.md", HARBOUR), ("new.md", "# New\n\nNew."))
    known, refused = answer.body["results"]
    assert answer.status == 200
    assert (known["document_id"], known["duplicate"]) == (first["document_id"], True)
    assert refused["error"]["code"] == "storage_full"
    assert len(stored()) == 1


class StubbornStorage(FileSystemStorage):
    def delete(self, name: str) -> None:
        raise OSError(errno.EROFS, "Read-only file system")


def test_a_file_that_cannot_be_removed_is_named_in_the_receipt(api: Api, settings: Any):
    document_id = only_result(api.upload(("harbour.md", HARBOUR)))["document_id"]
    use_storage(settings, StubbornStorage)
    answer = api.delete(f"documents/{document_id}")
    assert (answer.status, answer.body["files"]) == (200, 0)
    assert answer.body["files_left"] == [str(path) for path in stored()]
    assert counts() == {**NOTHING, "files": 1}


class ObjectStore(Storage):
    """As S3: there are keys, and no paths."""

    kept: dict[str, bytes] = {}

    def __init__(self, location: str) -> None:
        pass

    def _open(self, name: str, mode: str) -> ContentFile:
        return ContentFile(self.kept[name])

    def _save(self, name: str, content: Any) -> str:
        self.kept[name] = content.read()
        return name

    def exists(self, name: str) -> bool:
        return name in self.kept

    def delete(self, name: str) -> None:
        del self.kept[name]


def test_a_store_without_paths_serves_as_well(api: Api, settings: Any, work: Callable[[], int]):
    use_storage(settings, ObjectStore)
    document_id = only_result(api.upload(("harbour.md", HARBOUR)))["document_id"]
    assert work() == 1
    assert api.get(f"documents/{document_id}/original").body == HARBOUR.encode()
    assert api.delete(f"documents/{document_id}").body["files"] == 1
    assert not ObjectStore.kept
