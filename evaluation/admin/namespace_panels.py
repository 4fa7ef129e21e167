"""Panels about search and evaluation on a namespace's page (documents/admin/namespaces/hub.py)."""

from typing import Any

from django.urls import reverse
from django.utils.html import format_html

from documents.admin.namespaces.hub import Link, Panel, add_address, bounded, listed, register
from documents.models import Namespace
from evaluation.models import EvaluationRun, GoldenSet
from ragsite.web.markup import when
from retrieval.models import QueryLog

from .playground.view import address_of

SETS_SHOWN = 3


@register(20)
def searching(namespace: Namespace) -> Panel:
    return Panel(
        "Search",
        links=(Link("Open the playground", address_of(namespace.slug)),),
        search=reverse("admin:playground"),
    )


@register(60)
def golden_sets(namespace: Namespace) -> Panel:
    own = GoldenSet.objects.filter(namespace=namespace.pk)
    names = list(own.values_list("name", flat=True)[: SETS_SHOWN + 1])
    lines: list[Any] = names[:SETS_SHOWN] or ["No questions with known answers yet."]
    if len(names) > SETS_SHOWN:
        lines.append("and more")
    run = EvaluationRun.objects.filter(namespace=namespace.pk).order_by("-created_at").first()
    links = [Link("Golden sets", listed("evaluation_goldenset", namespace))]
    if run is not None:
        lines.append(format_html("last measured {}", when(run.created_at)))
        links.append(Link("Runs", listed("evaluation_evaluationrun", namespace)))
    links.append(Link("New set", add_address("evaluation_goldenset", namespace)))
    return Panel("Golden sets", tuple(lines), tuple(links))


@register(65)
def questions(namespace: Namespace) -> Panel:
    own = QueryLog.objects.filter(namespace=namespace.pk)
    newest = own.order_by("-created_at").values_list("created_at", flat=True).first()
    lines: list[Any] = [f"{bounded(own, 'question')} in the log"]
    if newest:
        lines.append(format_html("the last {}", when(newest)))
    listing = Link("Query log", listed("retrieval_querylog", namespace))
    return Panel("Questions", tuple(lines), (listing,))
