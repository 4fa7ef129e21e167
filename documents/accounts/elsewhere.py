"""A hint for operators who look at one namespace and open a row of another by its address."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from .namespace_choice import choices
from .visibility import allowed_to, chosen_namespace, namespace_path

AdminView = Callable[..., HttpResponse]


def with_hint(view: AdminView) -> AdminView:
    """The view; instead of "not found" it answers with the list and what to choose there. Only for
    rows that the operator may see."""
    model_admin = getattr(view, "__self__", None)

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        key = kwargs.get("object_id") or kwargs.get("pk")
        if key is None or not _is_elsewhere(request, model_admin, str(key)):
            return view(request, *args, **kwargs)
        meta = model_admin.opts  # type: ignore[union-attr]
        messages.warning(
            request,
            f"That {meta.verbose_name} is in another namespace than the one you chose. Choose "
            f"“{choices(request).all_label}” at the top of the page to open it.",
        )
        start = f"admin:{meta.app_label}_{meta.model_name}_changelist"
        return HttpResponseRedirect(reverse(start))

    return answer


def _is_elsewhere(request: HttpRequest, model_admin: Any, key: str) -> bool:
    chosen = chosen_namespace(request)
    path = namespace_path(model_admin.model) if hasattr(model_admin, "model") else ""
    if chosen is None or not path or request.method not in ("GET", "HEAD"):
        return False
    rows = model_admin.model._default_manager.exclude(**{path: chosen})
    allowed = allowed_to(request)
    if allowed is not None:
        rows = rows.filter(**{f"{path}__in": allowed})
    else:
        rows = rows.filter(**{f"{path}__isnull": False})  # what is shared is shown anyway
    try:
        is_elsewhere = rows.filter(pk=unquote(key)).exists()
    except (ValidationError, ValueError):
        return False
    return bool(is_elsewhere and model_admin.has_view_permission(request))
