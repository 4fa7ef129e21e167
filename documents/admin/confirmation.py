"""A confirmation page before a destructive action: it shows which rows and how many."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from ragsite.platform.wording import plural

TITLES_SHOWN = 20

Action = Callable[[Any, HttpRequest, QuerySet[Any]], HttpResponse | None]


def confirm_first(question: str, *, noun: str, consequence: str) -> Callable[[Action], Action]:
    """Decorate an admin action, below @admin.action. `{rows}` in the question becomes the count
    with the noun.

    Only the rows that were shown are confirmed; a changed selection needs another confirmation.
    """

    def decorate(action: Action) -> Action:
        @wraps(action)
        def wrapped(
            self: ModelAdmin, request: HttpRequest, queryset: QuerySet[Any]
        ) -> HttpResponse | None:
            name = action.__name__
            fingerprint = fingerprint_of(name, queryset.order_by().values_list("pk", flat=True))
            if request.POST.get("confirmed") == fingerprint:
                return action(self, request, queryset)
            if request.POST.get("confirmed"):
                changed = "The selection has changed. Please check it again."
                messages.warning(request, changed)
            posted = {
                "action": name,
                "select_across": request.POST.get("select_across", "0"),
                "index": request.POST.get("index", "0"),
            }
            chosen = request.POST.getlist(ACTION_CHECKBOX_NAME)
            return confirmation_page(
                self,
                request,
                queryset,
                question=question,
                noun=noun,
                consequence=consequence,
                fingerprint=fingerprint,
                posted=[*posted.items(), *((ACTION_CHECKBOX_NAME, pk) for pk in chosen)],
            )

        return wrapped

    return decorate


def fingerprint_of(name: str, ids: Iterable[Any]) -> str:
    """Return a hash of this action on exactly these rows."""
    lines = "\n".join([name, *sorted(str(pk) for pk in ids)])
    return hashlib.sha256(lines.encode()).hexdigest()


def confirmation_page(
    model_admin: ModelAdmin,
    request: HttpRequest,
    queryset: QuerySet[Any],
    *,
    question: str,
    noun: str,
    consequence: str,
    fingerprint: str,
    posted: Sequence[tuple[str, str]] = (),
) -> HttpResponse:
    count = queryset.count()
    context = {
        **model_admin.admin_site.each_context(request),
        "title": question.format(rows=plural(count, noun)),
        "opts": model_admin.opts,
        "consequence": consequence,
        "titles": [str(row)[:120] for row in queryset[:TITLES_SHOWN]],
        "more": max(0, count - TITLES_SHOWN),
        "fingerprint": fingerprint,
        "posted": posted,
    }
    return TemplateResponse(request, "admin/confirm.html", context)
