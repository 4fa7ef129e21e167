"""Ask first: an action that destroys shows how many and which, and runs when that is confirmed."""

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

TITLES_SHOWN = 20

Action = Callable[[Any, HttpRequest, QuerySet[Any]], HttpResponse | None]


def confirm_first(question: str, *, consequence: str) -> Callable[[Action], Action]:
    """For an admin action, below @admin.action. `question` has {count}; what was confirmed is
    exactly the rows that were shown: if the selection has changed since, it asks again."""

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
                changed = "The selection has changed meanwhile. Look again, please."
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
                consequence=consequence,
                fingerprint=fingerprint,
                posted=[*posted.items(), *((ACTION_CHECKBOX_NAME, pk) for pk in chosen)],
            )

        return wrapped

    return decorate


def fingerprint_of(name: str, ids: Iterable[Any]) -> str:
    """Names exactly this action on exactly these rows."""
    lines = "\n".join([name, *sorted(str(pk) for pk in ids)])
    return hashlib.sha256(lines.encode()).hexdigest()


def confirmation_page(
    model_admin: ModelAdmin,
    request: HttpRequest,
    queryset: QuerySet[Any],
    *,
    question: str,
    consequence: str,
    fingerprint: str,
    posted: Sequence[tuple[str, str]] = (),
) -> HttpResponse:
    count = queryset.count()
    context = {
        **model_admin.admin_site.each_context(request),
        "title": question.format(count=count),
        "opts": model_admin.opts,
        "consequence": consequence,
        "titles": [str(row)[:120] for row in queryset[:TITLES_SHOWN]],
        "more": max(0, count - TITLES_SHOWN),
        "fingerprint": fingerprint,
        "posted": posted,
    }
    return TemplateResponse(request, "admin/confirm.html", context)
