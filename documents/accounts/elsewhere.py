"""Hints for operators who have chosen one namespace and open a row of another: which namespace the
row belongs to, with buttons that switch."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.admin.utils import unquote
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from documents.models import Namespace

from .namespace_choice import choices
from .visibility import allowed_to, chosen_namespace, namespace_path

AdminView = Callable[..., HttpResponse]


def with_hint(view: AdminView) -> AdminView:
    """Wrap a view: instead of "not found" it shows which namespace the row is in, if the operator
    may see it."""
    model_admin = getattr(view, "__self__", None)

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        key = kwargs.get("object_id") or kwargs.get("pk")
        place = None if key is None else _elsewhere(request, model_admin, str(key))
        if place is None:
            return view(request, *args, **kwargs)
        meta = model_admin.opts  # type: ignore[union-attr]
        known = choices(request)
        context = {
            **model_admin.admin_site.each_context(request),  # type: ignore[union-attr]
            "title": "In another namespace",
            "opts": meta,
            "place": place,
            "chosen": next((n for n in known.namespaces if n.pk == known.chosen), None),
            "all_label": known.all_label,
        }
        return TemplateResponse(request, "admin/elsewhere.html", context, status=404)

    return answer


def _elsewhere(request: HttpRequest, model_admin: Any, key: str) -> Namespace | None:
    """Return the namespace of the row, if it is not the chosen one but the operator may see it."""
    chosen = chosen_namespace(request)
    path = namespace_path(model_admin.model) if hasattr(model_admin, "model") else ""
    if chosen is None or not path or request.method not in ("GET", "HEAD"):
        return None
    rows = model_admin.model._default_manager.exclude(**{path: chosen})
    allowed = allowed_to(request)
    if allowed is not None:
        rows = rows.filter(**{f"{path}__in": allowed})
    try:
        found = rows.filter(pk=unquote(key)).values_list(path, flat=True).first()
    except (ValueError, ValidationError):
        return None
    return Namespace.objects.filter(pk=found).first()  # shared rows are shown anyway
