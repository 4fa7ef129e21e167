"""Search and judge: run a query and grade its results with one click."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import reverse

from documents.accounts import audit
from documents.admin.parameters import uuid_or_404
from documents.admin.visible import only_visible
from documents.models import Document
from evaluation.errors import BadGoldenSet
from evaluation.golden import curating
from evaluation.models import GoldenQuery, GoldenSet, Judgement
from retrieval.requests import Hit, SearchRequest
from retrieval.search import search

SHOWN = 20
PER_DOCUMENT = 5
LISTED = 100  # of the set's queries, the newest
GRADES = (
    (3, "answers"),
    (2, "in part"),
    (1, "touches it"),
    (0, "does not"),
)


@dataclass(frozen=True, slots=True)
class Judgeable:
    """A hit, its judgement, and other judgements on its document."""

    hit: Hit
    judgement: Judgement | None
    others: list[Judgement]


def judge_view(model_admin: admin.ModelAdmin) -> Callable[..., HttpResponse]:
    def view(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        golden_set = get_object_or_404(
            only_visible(request, GoldenSet.objects.select_related("namespace")), pk=pk
        )
        if not model_admin.has_change_permission(request, golden_set):
            raise PermissionDenied
        if request.method == "POST":
            return _judge(request, golden_set)
        return _show(model_admin, request, golden_set)

    return view


def _show(
    model_admin: admin.ModelAdmin, request: HttpRequest, golden_set: GoldenSet
) -> HttpResponse:
    by_document = request.GET.get("by") == "document"
    query = None
    if "query" in request.GET:
        query = get_object_or_404(golden_set.queries, pk=uuid_or_404(request.GET["query"]))
    text = query.text if query else request.GET.get("q", "").strip()[: curating.MAX_QUERY_LENGTH]
    if query is None and text:
        query = golden_set.queries.filter(text=text).first()
    context = {
        **model_admin.admin_site.each_context(request),
        "title": f"Search and judge: {golden_set.name}",
        "opts": model_admin.opts,
        "golden_set": golden_set,
        "query": query,
        "judged": query.judgements.count() if query else 0,
        "parent": (
            golden_set.name,
            reverse("admin:evaluation_goldenset_change", args=[golden_set.pk]),
        ),
        "text": text,
        "by_document": by_document,
        "results": _results(golden_set, query, text, by_document) if text else [],
        "asked": bool(text),
        "grades": GRADES,
        "queries": golden_set.queries.order_by("-created_at")[:LISTED],
    }
    return TemplateResponse(request, "admin/evaluation/judge.html", context)


def _results(
    golden_set: GoldenSet, query: GoldenQuery | None, text: str, by_document: bool
) -> list[Judgeable]:
    asked = SearchRequest(
        query=text,
        k=SHOWN,
        filters=curating.read_filters(query.filters if query else {}),
        max_per_document=1 if by_document else PER_DOCUMENT,
        token_budget=1_000_000,
    )
    result = search(golden_set.namespace_id, asked)
    judgements = list(query.judgements.all()) if query else []
    shown = []
    for hit in result.hits:
        place = (None, None) if by_document else (hit.start, hit.end)
        here = [j for j in judgements if j.source_uri == hit.source_uri]
        mine = next((j for j in here if (j.start, j.end) == place), None)
        others = [j for j in here if j is not mine and _concerns(j, hit)]
        shown.append(Judgeable(hit, mine, others))
    return shown


def _concerns(judgement: Judgement, hit: Hit) -> bool:
    """Whether the judgement is on the whole document or overlaps the passage."""
    if judgement.start is None or judgement.end is None:
        return True
    return judgement.start < hit.end and hit.start < judgement.end


def _judge(request: HttpRequest, golden_set: GoldenSet) -> HttpResponse:
    posted = request.POST
    try:
        query = curating.add_query(golden_set, posted.get("q", "").strip())
        if posted.get("remove"):
            _remove(query, posted["remove"])
        elif posted.get("document"):
            _write(query, posted)
    except (BadGoldenSet, ValueError) as error:
        messages.error(request, str(error))
        return HttpResponseRedirect(f"?{urlencode({'q': posted.get('q', '')})}")
    where: dict[str, Any] = {"query": query.pk}
    if posted.get("by") == "document":
        where["by"] = "document"
    return HttpResponseRedirect(f"?{urlencode(where)}#{posted.get('place', '')}")


def _remove(query: GoldenQuery, judgement_id: str) -> None:
    judgement = get_object_or_404(query.judgements, pk=uuid_or_404(judgement_id))
    gone = audit.Target("judgement", str(judgement.pk))
    audit.record("judgement.delete", namespace=query.namespace_id, target=gone)
    judgement.delete()
    curating.touch(query.golden_set_id)


def _write(query: GoldenQuery, posted: Any) -> None:
    document = get_object_or_404(
        Document, pk=uuid_or_404(posted["document"]), namespace_id=query.namespace_id
    )
    span = (_number(posted, "start"), _number(posted, "end")) if posted.get("start") else None
    is_negative = posted.get("grade") == "negative"
    curating.judge(
        query,
        document,
        grade=0 if is_negative else _number(posted, "grade"),
        span=span,
        is_hard_negative=is_negative,
    )


def _number(posted: Any, name: str) -> int:
    value = str(posted.get(name, ""))
    if not (value.isascii() and value.isdigit() and len(value) < 10):
        raise BadGoldenSet(f"The {name} must be a whole number.")
    return int(value)
