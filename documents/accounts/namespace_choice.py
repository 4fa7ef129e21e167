"""The choice in the header of the admin: one namespace, or all that the operator may see."""

import uuid
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from documents.models import Namespace

from . import audit
from .visibility import SESSION_KEY, allowed_to, chosen_namespace

MAX_LISTED = 1000


@dataclass(frozen=True, slots=True)
class NamespaceChoice:
    """`all_label` is empty if there is nothing to choose."""

    namespaces: list[Namespace]
    chosen: uuid.UUID | None
    all_label: str


def choices(request: HttpRequest) -> NamespaceChoice:
    listed = list(_allowed(request).only("slug", "name")[:MAX_LISTED])
    is_unlimited = allowed_to(request) is None
    label = "All namespaces" if is_unlimited else "All of mine"
    return NamespaceChoice(listed, chosen_namespace(request), label if len(listed) > 1 else "")


def choose_namespace(request: HttpRequest) -> HttpResponse:
    """POST namespace=<id or empty>: choose what lists show. Choosing all namespaces is recorded."""
    if request.method != "POST":
        return HttpResponseRedirect(reverse("admin:index"))  # after signing in again
    chosen = _chosen(request)
    if chosen is not None:
        request.session[SESSION_KEY] = str(chosen.pk)
    else:
        request.session.pop(SESSION_KEY, None)
        audit.record("namespace.view_all", target=audit.Target("namespace", label="all"))
    return HttpResponseRedirect(_back(request))


def _chosen(request: HttpRequest) -> Namespace | None:
    try:
        pk = uuid.UUID(request.POST.get("namespace", ""))
    except ValueError:
        return None
    return _allowed(request).filter(pk=pk).first()


def _allowed(request: HttpRequest) -> Any:
    ids = allowed_to(request)
    rows = Namespace.objects.order_by("slug")
    return rows if ids is None else rows.filter(pk__in=ids)


def _back(request: HttpRequest) -> str:
    """Return the address of the operator's list. A filter by namespace would contradict the choice,
    and a row may no longer be visible, so both are dropped; with `stay` the row is kept, because
    the operator switches in order to see it."""
    start: str = reverse("admin:index")
    back = request.POST.get("next", "")
    if not request.POST.get("stay"):
        back = back.partition("?")[0]
        back = start if any(c.isdigit() for c in back) else back
    is_ours = url_has_allowed_host_and_scheme(back, allowed_hosts=None)
    return back if is_ours and back.startswith(start) else start
