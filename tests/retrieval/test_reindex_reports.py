"""What a reindex says beforehand and afterwards, what it refuses, and what it leaves behind."""

import uuid
from collections.abc import Callable

import pytest

from documents import housekeeping
from documents.models import Chunk, Document, DocumentVersion, IndexProfile, Namespace, Reindex
from documents.profiles import warmup
from documents.reindex import estimate as estimating
from documents.reindex import switching
from evaluation.golden.curating import add_query, judge
from evaluation.models import GoldenSet
from ragsite.database.tenancy import namespace, operator
from retrieval import query_log
from retrieval.inspection import parity

from ..client import Api
from .test_reindex import chunks_of, fill


def test_two_cannot_be_under_way_and_a_killed_reclaim_is_swept(
    api: Api,
    tenant: Namespace,
    hashing_profile: IndexProfile,
    small_profile: IndexProfile,
    build: Callable[[], None],
):
    fill(api, 2)
    build()
    with operator():
        default = IndexProfile.objects.get(name="default")
    with pytest.raises(switching.ReindexError, match="already"):
        switching.start(tenant.pk, hashing_profile)
    first = switching.start(tenant.pk, small_profile)
    assert switching.start(tenant.pk, small_profile) == first
    with pytest.raises(switching.ReindexError, match="on its way to 'small'"):
        switching.start(tenant.pk, default)
    build()
    switching.switch(tenant.pk)
    switching.reclaim(tenant.pk)  # and the worker that should remove the chunks dies
    assert chunks_of(tenant, hashing_profile) != []
    housekeeping.tidy()
    assert chunks_of(tenant, hashing_profile) == []
    assert chunks_of(tenant, small_profile) != []


def test_an_estimate_is_near_what_comes_and_stores_nothing(
    api: Api, tenant: Namespace, small_profile: IndexProfile, build: Callable[[], None]
):
    fill(api, 12)
    build()
    estimate = estimating.estimate(tenant.pk, small_profile)
    assert chunks_of(tenant, small_profile) == []
    assert (estimate.documents, estimate.cost) == (12, None)
    assert estimate.seconds > 0
    switching.start(tenant.pk, small_profile)
    build()
    with namespace(tenant.pk):
        built = Chunk.objects.filter(profile=small_profile)
        assert estimate.chunks == pytest.approx(built.count(), rel=0.2)
        assert estimate.tokens == pytest.approx(
            sum(built.values_list("tokens", flat=True)), rel=0.2
        )
    assert estimating.estimate(tenant.pk, small_profile).documents == 0


def test_the_report_compares_places_not_ids(
    api: Api, tenant: Namespace, small_profile: IndexProfile, build: Callable[[], None]
):
    fill(api, 12)
    build()
    reindex = switching.start(tenant.pk, small_profile)
    build()
    report = parity.compare(reindex)
    assert (report["questions"], report["by"]) == (12, "sampled passages")
    assert 0.3 < report["overlap_at_10"] <= 1
    with operator():
        assert Reindex.objects.get().parity == report


def test_what_people_asked_goes_before_samples_and_what_is_judged_before_both(
    api: Api, tenant: Namespace, small_profile: IndexProfile, build: Callable[[], None]
):
    fill(api, 4)
    build()
    reindex = switching.start(tenant.pk, small_profile)
    build()
    for turn in range(10):
        api.query(f"oil of light {turn}")
    query_log.flush()
    logged = parity.compare(reindex)
    assert (logged["by"], logged["questions"]) == ("query log", 10)
    with namespace(tenant.pk):
        golden = GoldenSet.objects.create(namespace=tenant, name="lights")
        document = Document.objects.get(source_uri="upload:light-3.md")
        judge(add_query(golden, "who ran low on lamp oil 3?"), document, grade=3)
    judged = parity.compare(reindex)
    assert (judged["by"], judged["questions"]) == ("golden set 'lights'", 1)
    assert judged["measures"]["ndcg@10"] == {"before": 1.0, "after": 1.0}


def test_another_tenants_reindex_is_out_of_sight(
    tenant: Namespace, other_tenant: Namespace, small_profile: IndexProfile
):
    switching.start(tenant.pk, small_profile)
    with namespace(other_tenant.pk):
        assert switching.current(other_tenant.pk) is None
        assert not Reindex.objects.exists()
    assert not Reindex.objects.filter(pk=uuid.uuid4()).exists()


def test_the_next_model_is_loaded_before_the_switch(
    api: Api, tenant: Namespace, small_profile: IndexProfile, build: Callable[[], None]
):
    assert warmup.embedders_in_use() == {"hashing"}
    switching.start(tenant.pk, small_profile)
    assert warmup.embedders_in_use() == {"hashing", "small"}
    assert warmup.warm({"hashing"}) == {"small"}
    assert warmup.warm({"hashing", "small"}) == set()
    switching.cancel(tenant.pk)
    assert warmup.embedders_in_use() == {"hashing"}


def test_what_cannot_be_indexed_is_named_and_stops_the_switch_until_it_is_replaced(
    api: Api, tenant: Namespace, small_profile: IndexProfile, build: Callable[[], None]
):
    ids = fill(api, 3)
    build()
    with namespace(tenant.pk):  # a file that has gone bad on the disk since
        version = DocumentVersion.objects.get(document_id=ids[1])
        DocumentVersion.objects.filter(pk=version.pk).update(media_type="application/pdf")
    switching.start(tenant.pk, small_profile)
    build()
    with operator():
        reindex = Reindex.objects.get()
    assert reindex.state == "built"
    assert reindex.failures[str(version.pk)]["document_id"] == ids[1]
    with pytest.raises(switching.ReindexError, match="1 document could not be indexed"):
        switching.switch(tenant.pk)
    api.upload(("light-1.md", "# Light 1\n\nRebuilt in stone."))
    build()
    switching.switch(tenant.pk)
    assert api.query("stone").body["results"][0]["title"] == "Light 1"
