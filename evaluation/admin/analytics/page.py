"""The values of the page, for one operator."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone

from documents.admin.visible import only_visible, visible_namespaces
from documents.models import Namespace

from . import figures
from .charts import drawn
from .figures import LOW, Scope

PERIODS = {"7": 7, "30": 30, "90": 90}  # days
NAMESPACES_OFFERED = 200


def analytics_view(model_admin: admin.ModelAdmin) -> Callable[[HttpRequest], HttpResponse]:
    def view(request: HttpRequest) -> HttpResponse:
        if not model_admin.has_view_permission(request):
            raise PermissionDenied
        context = {
            **model_admin.admin_site.each_context(request),
            "opts": model_admin.opts,
            "title": "Analytics",
            **analytics(request),
        }
        return TemplateResponse(request, "admin/analytics/analytics.html", context)

    return view


def analytics(request: HttpRequest) -> dict[str, Any]:
    days = PERIODS.get(request.GET.get("days", ""), PERIODS["30"])
    offered = list(
        only_visible(request, Namespace.objects.only("slug", "name"), "pk").order_by("slug")[
            :NAMESPACES_OFFERED
        ]
    )
    chosen = next((one for one in offered if one.slug == request.GET.get("namespace", "")), None)
    visible = visible_namespaces(request) if chosen is None else frozenset({chosen.pk})
    scope = Scope(visible, _start_of(days))
    each_day, whole = figures.by_day(scope, days, low=LOW)
    return {
        "days": days,
        "periods": list(PERIODS.values()),
        "namespaces": offered,
        "chosen": chosen,
        "whole": whole,
        "shares": {
            name: f"{whole.share(getattr(whole, name)):.1%}"
            for name in ("empty", "low", "cached", "fell_back", "with_feedback")
        },
        "low": LOW,
        "charts": drawn(each_day),
        "feedback": figures.feedback(scope),
        "top": figures.top_documents(scope),
        "never": figures.never_found(scope),
        "models": figures.model_use(scope),
        "since": scope.since,
        "is_logged": settings.QUERY_LOG_DAYS > 0,
        "kept_days": settings.QUERY_LOG_DAYS,
        "sample_shown": f"{settings.QUERY_LOG_PRIVACY['sample']:.0%}",
        "sample": settings.QUERY_LOG_PRIVACY["sample"],
        "newest": figures.NEWEST,
    }


def _start_of(days: int) -> datetime:
    today = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
    return today - timedelta(days=days - 1)
