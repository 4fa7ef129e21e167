"""The panels above a namespace's settings: one for each kind of content. The apps above register
their own.

Every panel needs only lookups by key, or counts that stop early, so the page is as fast for a
million chunks as for none.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any
from urllib.parse import urlencode

from django.db.models import Max, Q, QuerySet, Sum
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html

from documents.accounts import quotas
from documents.models import (
    ApiKey,
    Collection,
    Document,
    EmbeddingUsage,
    LanguageModelUsage,
    Namespace,
    Reindex,
)
from ragsite.platform.wording import file_size, plural
from ragsite.web.markup import badge, when

COUNTED = 1000  # maximum number of rows to count; beyond that "more than 1,000" is shown


@dataclass(frozen=True, slots=True)
class Link:
    text: str
    url: str


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines are text or safe HTML; the links are possible next steps. `search` is the address of a
    form that asks the namespace a question."""

    title: str
    lines: tuple[Any, ...] = ()
    links: tuple[Link, ...] = ()
    search: str = ""


PanelOf = Callable[[Namespace], Panel]
_panels: list[tuple[int, PanelOf]] = []


def register(place: int) -> Callable[[PanelOf], PanelOf]:
    """Decorate a function that makes a panel; panels with lower places come first."""

    def add(panel: PanelOf) -> PanelOf:
        _panels.append((place, panel))
        return panel

    return add


def panels_of(namespace: Namespace) -> list[Panel]:
    """Inside operator()."""
    in_order = sorted(_panels, key=lambda entry: entry[0])
    return [panel(namespace) for _, panel in in_order]


def listed(model: str, namespace: Namespace, **filters: str) -> str:
    """Return the address of a list that shows only rows of this namespace."""
    query = {"namespace__id__exact": str(namespace.pk), **filters}
    return f"{reverse(f'admin:{model}_changelist')}?{urlencode(query)}"


def add_address(model: str, namespace: Namespace) -> str:
    """Return the address of a form for a new row of this namespace."""
    return f"{reverse(f'admin:{model}_add')}?{urlencode({'namespace': str(namespace.pk)})}"


def bounded(rows: QuerySet[Any], noun: str) -> str:
    """Count the rows, but never more than COUNTED of them."""
    count = rows.order_by()[: COUNTED + 1].count()
    return f"more than {plural(COUNTED, noun)}" if count > COUNTED else plural(count, noun)


@register(10)
def content(namespace: Namespace) -> Panel:
    usage = quotas.usage_of(namespace.pk)
    shown = {
        "documents": plural(usage["documents"].used, "document"),
        "chunks": plural(usage["chunks"].used, "chunk"),
        "bytes": file_size(usage["bytes"].used),
    }
    of = {
        name: f" of {file_size(one.quota) if name == 'bytes' else f'{one.quota:,}'}"
        for name, one in usage.items()
        if one.quota
    }
    failed = Document.objects.filter(namespace=namespace.pk, status=Document.Status.FAILED)
    links = [Link("Documents", listed("documents_document", namespace))]
    lines = [f"{text}{of.get(name, '')}" for name, text in shown.items()]
    if failed.exists():
        address = listed("documents_document", namespace, status__exact="failed")
        links.append(Link(bounded(failed, "failed one"), address))
    links.append(Link("Chunks", listed("documents_chunk", namespace)))
    links.append(Link("Jobs", listed("documents_ingestjob", namespace)))
    return Panel("Content", tuple(lines), tuple(links))


@register(30)
def profile(namespace: Namespace) -> Panel:
    active = namespace.active_profile
    lines: list[Any] = [active.name, f"{active.chunker} chunks of {active.chunk_size:,}"]
    lines.append(f"embedder {active.embedder}, {active.dimensions:,} dimensions")
    under_way = (
        Reindex.objects.filter(namespace=namespace.pk, state__in=Reindex.OPEN)
        .select_related("profile")
        .first()
    )
    if under_way is None:
        move = add_address("documents_reindex", namespace)
        return Panel("Index profile", tuple(lines), (Link("Move to another profile", move),))
    lines.append(f"reindex to {under_way.profile.name}")
    lines.append(badge(under_way.state))
    page = reverse("admin:documents_reindex_change", args=[under_way.pk])
    return Panel("Index profile", tuple(lines), (Link("Look at the reindex", page),))


@register(40)
def keys(namespace: Namespace) -> Panel:
    own = ApiKey.objects.filter(namespace=namespace.pk)
    unexpired = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    active = own.filter(unexpired, revoked_at=None).count()
    used = own.aggregate(last=Max("last_used_at"))["last"]
    lines: list[Any] = [plural(active, "active key")]
    if used:
        lines.append(format_html("last used {}", when(used)))
    elif active:
        lines.append("never used")
    return Panel(
        "Keys",
        tuple(lines),
        (
            Link("New key", add_address("documents_apikey", namespace)),
            Link("All keys", listed("documents_apikey", namespace)),
        ),
    )


@register(50)
def collections(namespace: Namespace) -> Panel:
    own = Collection.objects.filter(namespace=namespace.pk)
    link = Link("Collections", listed("documents_collection", namespace))
    return Panel("Collections", (bounded(own, "collection"),), (link,))


@register(70)
def usage(namespace: Namespace) -> Panel:
    today = timezone.now().date()
    month = date(today.year, today.month, 1)
    this_month = {"namespace": namespace.pk, "month": month}
    embedded = EmbeddingUsage.objects.filter(**this_month).aggregate(
        tokens=Sum("tokens"), cost=Sum("cost")
    )
    written = LanguageModelUsage.objects.filter(**this_month).aggregate(
        calls=Sum("calls"),
        tokens=Sum("prompt_tokens") + Sum("completion_tokens"),
        cost=Sum("cost"),
    )
    cost = (embedded["cost"] or 0) + (written["cost"] or 0)
    lines = [f"embedded: {plural(embedded['tokens'] or 0, 'token')}"]
    calls = plural(written["calls"] or 0, "call")
    lines.append(f"language models: {calls}, {plural(written['tokens'] or 0, 'token')}")
    if cost:
        lines.append(f"cost: {cost:.4f}")
    links = (
        Link("Embedding by month", listed("documents_embeddingusage", namespace)),
        Link("Models by month", listed("documents_languagemodelusage", namespace)),
    )
    return Panel(f"Usage in {month:%B}", tuple(lines), links)
