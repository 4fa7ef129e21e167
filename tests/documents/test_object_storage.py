"""Originals in a bucket, on a real S3-compatible server (SeaweedFS)."""

import hashlib
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db.models.functions import Now

from documents import housekeeping
from documents.intake import originals
from documents.models import DocumentVersion, IngestJob, Namespace
from documents.verification import auditing, file_rules
from evaluation.benchmarks.data import samples
from ragsite.database.tenancy import operator
from ragsite.settings.storage import BUCKET as BACKEND

from ..client import Api
from ..object_store import (
    ACCESS_KEY,
    BUCKET,
    SECRET_KEY,
    FaultyProxy,
    download,
    faulty_proxy,
    object_store,
)

TEXT = "# Harbour\n\nThe harbour master keeps the log. " * 40
SECRETS = (SECRET_KEY, ACCESS_KEY)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with object_store(tmp_path_factory.mktemp("weed")) as address:
        yield address


@pytest.fixture(scope="module")
def proxy(store: str) -> Iterator[str]:
    with faulty_proxy(store) as address:
        yield address


@pytest.fixture
def use_bucket(settings: Any) -> Callable[..., None]:
    def use(endpoint: str, **options: Any) -> None:
        FaultyProxy.faults.clear()
        FaultyProxy.seen.clear()
        FaultyProxy.statuses.clear()
        merged = {
            "bucket_name": BUCKET,
            "endpoint_url": endpoint,
            "region_name": "us-east-1",
            "access_key": ACCESS_KEY,
            "secret_key": SECRET_KEY,
            "link_seconds": 300,
            **options,
        }
        settings.STORAGES = {
            **settings.STORAGES,
            "default": {"BACKEND": BACKEND, "OPTIONS": merged},
        }

    return use


@pytest.fixture
def bucket(store: str, use_bucket: Callable[..., None]) -> None:
    use_bucket(store)


def kept_keys(tenant: Namespace) -> list[str]:
    with operator():
        found = DocumentVersion.objects.filter(namespace=tenant).values_list("storage_key")
        return [key for (key,) in found]


@pytest.mark.usefixtures("bucket")
def test_a_document_is_stored_indexed_downloaded_and_deleted(
    api: Api, work: Callable[[], int], tenant: Namespace
):
    pdf = samples.pdf()
    answer = api.upload(("a.pdf", pdf), ("notes <b>.md", TEXT))
    assert work() == 2
    ids = [result["document_id"] for result in answer.body["results"]]
    assert [api.get(f"documents/{each}").body["status"] for each in ids] == ["ready", "ready"]
    for document_id, data in zip(ids, (pdf, TEXT.encode()), strict=True):
        redirect = api.get(f"documents/{document_id}/original")
        assert redirect.status == 302
        status, body, headers = download(redirect.headers["Location"])
        assert (status, body) == (200, data)
        assert headers["Content-Disposition"].startswith("attachment")
        assert not any(secret in redirect.headers["Location"] for secret in (SECRET_KEY,))
    keys = kept_keys(tenant)
    assert all(default_storage.exists(key) for key in keys)
    for document_id in ids:
        assert api.delete(f"documents/{document_id}").status == 200
    assert not any(default_storage.exists(key) for key in keys)


@pytest.mark.usefixtures("bucket")
def test_the_bucket_is_private(api: Api, tenant: Namespace, store: str):
    api.upload(("a.md", TEXT))
    (key,) = kept_keys(tenant)
    assert download(f"{store}/{BUCKET}/{key}")[0] == 403
    link = originals.signed_link(key, name="a.md", media_type="text/markdown")
    assert link is not None
    changed = link.replace("X-Amz-Expires=300", "X-Amz-Expires=99999")
    assert changed != link
    assert download(changed)[0] == 403


def test_a_signed_link_expires(
    api: Api, tenant: Namespace, store: str, use_bucket: Callable[..., None]
):
    use_bucket(store, link_seconds=1)
    api.upload(("a.md", TEXT))
    (key,) = kept_keys(tenant)
    link = originals.signed_link(key, name="a.md", media_type="text/markdown")
    assert link is not None
    time.sleep(2.5)
    assert download(link)[0] == 403


def test_links_can_be_switched_off_and_have_an_address_of_their_own(
    api: Api, store: str, use_bucket: Callable[..., None]
):
    use_bucket(store, link_endpoint_url="https://files.example.com")
    document_id = api.upload(("a.md", TEXT)).body["results"][0]["document_id"]
    location = api.get(f"documents/{document_id}/original").headers["Location"]
    assert location.startswith(f"https://files.example.com/{BUCKET}/")
    use_bucket(store, link_seconds=0)
    answer = api.get(f"documents/{document_id}/original")
    assert (answer.status, answer.body) == (200, TEXT.encode())


def test_another_tenants_original_has_no_link(
    api_of: Callable[..., Api], tenant: Namespace, other_tenant: Namespace, bucket: None
):
    document_id = api_of(tenant).upload(("a.md", TEXT)).body["results"][0]["document_id"]
    assert api_of(other_tenant).get(f"documents/{document_id}/original").code == "not_found"


def test_a_wrong_secret_loses_nothing_and_shows_nothing(
    api: Api, tenant: Namespace, store: str, use_bucket: Callable[..., None], caplog: Any
):
    use_bucket(store, secret_key="not the secret")
    refused = api.upload(("a.md", TEXT))
    assert (refused.status, refused.code) == (503, "storage_unavailable")
    assert refused.headers["Retry-After"] == "5"
    assert kept_keys(tenant) == []
    assert not any(secret in caplog.text + str(refused.body) for secret in SECRETS)


def test_a_large_file_goes_in_parts_and_comes_back_whole(tenant: Namespace, bucket: None):
    data = hashlib.sha256(b"seed").digest() * (20 * 2**20 // 32)
    key = originals.store(ContentFile(data), namespace_id=tenant.pk)
    digest = hashlib.sha256(data).hexdigest()
    with originals.opened(key, sha256=digest) as file:
        assert originals.digest_of(file) == digest


def test_bytes_that_change_on_their_way_are_refused_by_the_server(
    api: Api, tenant: Namespace, proxy: str, use_bucket: Callable[..., None]
):
    use_bucket(proxy)
    FaultyProxy.faults[:] = ["flip"] * 8  # more often than is tried
    refused = api.upload(("a.md", TEXT))
    assert (refused.status, refused.code) == (503, "storage_unavailable")
    assert FaultyProxy.statuses[0] == 400
    assert kept_keys(tenant) == []
    FaultyProxy.faults.clear()
    assert api.upload(("a.md", TEXT)).status == 202


def test_a_large_file_of_which_a_part_changed_is_given_up_and_leaves_no_parts(
    tenant: Namespace, store: str, proxy: str, use_bucket: Callable[..., None]
):
    use_bucket(proxy)
    data = hashlib.sha256(b"seed").digest() * (20 * 2**20 // 32)
    FaultyProxy.faults[:] = ["", "", "flip", "flip", "flip", "flip"]  # begun, one part sent
    with pytest.raises(originals.StorageUnavailable):
        originals.store(ContentFile(data), namespace_id=tenant.pk)
    assert FaultyProxy.seen[:3] == ["POST", "PUT", "PUT"]
    assert FaultyProxy.seen[-1] == "DELETE"
    client = default_storage.connection.meta.client
    assert not client.list_multipart_uploads(Bucket=BUCKET).get("Uploads")


@pytest.mark.parametrize("faults", [["500"], ["503", "503"], ["drop"]])
def test_a_fault_that_passes_is_not_noticed(
    faults: list[str], tenant: Namespace, proxy: str, use_bucket: Callable[..., None]
):
    use_bucket(proxy)
    FaultyProxy.faults[:] = faults
    key = originals.store(ContentFile(TEXT.encode()), namespace_id=tenant.pk)
    FaultyProxy.faults[:] = faults
    digest = hashlib.sha256(TEXT.encode()).hexdigest()
    with originals.opened(key, sha256=digest) as file:
        assert file.read() == TEXT.encode()


def test_a_file_that_is_seen_late_is_waited_for_and_a_missing_one_is_said_to_be_lost(
    tenant: Namespace, proxy: str, use_bucket: Callable[..., None], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(originals, "LOOK_AGAIN", (0.01, 0.01))
    use_bucket(proxy)
    key = originals.store(ContentFile(TEXT.encode()), namespace_id=tenant.pk)
    digest = hashlib.sha256(TEXT.encode()).hexdigest()
    FaultyProxy.faults[:] = ["404", "404"]
    with originals.opened(key, sha256=digest) as file:
        assert file.read() == TEXT.encode()
    FaultyProxy.faults[:] = ["404"] * 3
    with pytest.raises(originals.OriginalLost), originals.opened(key, sha256=digest):
        pass


def test_half_a_file_is_never_taken_for_the_whole(
    tenant: Namespace, proxy: str, use_bucket: Callable[..., None]
):
    use_bucket(proxy)
    key = originals.store(ContentFile(TEXT.encode()), namespace_id=tenant.pk)
    digest = hashlib.sha256(TEXT.encode()).hexdigest()
    FaultyProxy.faults[:] = ["", "cut"]  # the first request asks for the size
    with originals.opened(key, sha256=digest) as file:
        assert file.read() == TEXT.encode()


def test_a_storage_that_stays_away_is_503_and_the_job_is_tried_again(
    api: Api,
    work: Callable[[], int],
    tenant: Namespace,
    store: str,
    use_bucket: Callable[..., None],
):
    use_bucket(store)
    taken = api.upload(("a.md", TEXT)).body["results"][0]
    use_bucket("http://127.0.0.1:9")  # nobody listens there
    refused = api.upload(("b.md", TEXT + "more"))
    assert (refused.status, refused.code) == (503, "storage_unavailable")
    use_bucket("http://127.0.0.1:9", link_seconds=0)
    assert api.get(f"documents/{taken['document_id']}/original").code == "storage_unavailable"
    work()
    job = api.get(f"jobs/{taken['job_id']}").body
    assert job["error"]["code"] == "storage_unavailable"
    housekeeping.tidy()  # goes on with the other chores
    use_bucket(store)
    with operator():  # not wait for the pause between attempts
        IngestJob.objects.filter(state="queued").update(run_after=Now())
    work()
    assert api.get(f"documents/{taken['document_id']}").body["status"] == "ready"


@pytest.mark.usefixtures("bucket")
def test_an_object_that_was_changed_behind_our_back_is_not_served(
    api: Api, tenant: Namespace, store: str, use_bucket: Callable[..., None]
):
    document_id = api.upload(("a.md", TEXT)).body["results"][0]["document_id"]
    (key,) = kept_keys(tenant)
    default_storage.save(key, ContentFile(b"something else"))
    use_bucket(store, link_seconds=0)
    assert api.get(f"documents/{document_id}/original").code == "original_lost"


@pytest.mark.usefixtures("bucket")
def test_all_originals_of_a_namespace_are_removed(api: Api, tenant: Namespace):
    api.upload(("a.md", TEXT), ("b.md", TEXT + "b"))
    keys = kept_keys(tenant)
    assert originals.remove_all(tenant.pk) == (2, [])
    assert not any(default_storage.exists(key) for key in keys)


def test_a_namespace_whose_files_cannot_be_listed_is_reported(
    tenant: Namespace, use_bucket: Callable[..., None]
):
    use_bucket("http://127.0.0.1:9")
    assert originals.remove_all(tenant.pk) == (0, [f"uploads/{tenant.pk}"])


@pytest.mark.usefixtures("bucket")
def test_verify_finds_what_is_lost_and_what_nobody_owns(
    api: Api, work: Callable[[], int], tenant: Namespace, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(auditing, "PAUSE_SECONDS", 0)
    api.upload(("a.md", TEXT), ("b.md", TEXT + "More."))
    work()
    assert auditing.verify([tenant]).findings == []
    lost, changed = sorted(kept_keys(tenant))
    default_storage.delete(lost)
    with default_storage.open(changed) as stored:
        same_size = bytes(reversed(stored.read()))
    default_storage.save(changed, ContentFile(same_size))
    orphan = originals.store(ContentFile(b"x"), namespace_id=tenant.pk)
    monkeypatch.setattr(file_rules, "GRACE", timedelta(seconds=-60))
    report = auditing.verify([tenant])
    assert [(each.check, each.count) for each in report.findings] == [
        ("originals", 2),
        ("orphans", 1),
    ]
    assert report.findings[1].examples == (orphan,)
    assert auditing.verify([tenant], fast=True).findings[0].count == 1
    auditing.verify([tenant], repair=True)
    assert not default_storage.exists(orphan)
    assert default_storage.exists(changed)
