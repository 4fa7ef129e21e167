"""The rows that an operator sees: those of their namespaces, and of the one they have chosen.

The operator role of the database sees everything, so every list, form, filter, autocomplete and
page of the admin goes through `only_visible`. Models without a namespace belong to the whole
installation: operators who are limited to some namespaces do not see them.
"""

import uuid
from typing import Any

from django.core.exceptions import FieldDoesNotExist
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest

from documents.models import IndexProfile, Namespace, NamespaceRemoval

from .people import allowed_namespaces

SESSION_KEY = "namespace"
_CACHE = "_allowed_namespaces"
_PATHS: dict[type[Model], str] = {Namespace: "pk", NamespaceRemoval: "removed_namespace"}
# Rows of these models that belong to no namespace are visible to all operators.
_SHARED: tuple[type[Model], ...] = (IndexProfile,)

Ids = frozenset[uuid.UUID]


def allowed_to(request: HttpRequest) -> Ids | None:
    """Return the ids of the namespaces that this operator may see; None: all of them."""
    if not hasattr(request, _CACHE):
        setattr(request, _CACHE, allowed_namespaces(request.user))
    allowed: Ids | None = getattr(request, _CACHE)
    return allowed


def chosen_namespace(request: HttpRequest) -> uuid.UUID | None:
    """Return the namespace that the operator has chosen, if they may see it."""
    session = getattr(request, "session", {})
    try:
        chosen = uuid.UUID(session.get(SESSION_KEY) or "")
    except ValueError:
        return None
    allowed = allowed_to(request)
    return chosen if allowed is None or chosen in allowed else None


def visible_namespaces(request: HttpRequest) -> Ids | None:
    """Return the ids of the namespaces to show: the chosen one, or all allowed ones; None: all."""
    chosen = chosen_namespace(request)
    return allowed_to(request) if chosen is None else frozenset([chosen])


def only_visible(request: HttpRequest, rows: QuerySet[Any], field: str = "") -> Any:
    """Leave out rows of namespaces that the operator does not see. `field` is the path from a row
    to its namespace; by default the model's own."""
    return rows.filter(condition(request, rows.model, field))


def condition(request: HttpRequest, model: type[Model], field: str = "") -> Q:
    """Return the same restriction as a condition."""
    path = field or namespace_path(model)
    if not path:
        return Q() if allowed_to(request) is None else Q(pk__in=[])
    ids = visible_namespaces(request)
    if ids is None:
        return Q()
    inside = Q(**{f"{path}__in": ids})
    return inside | Q(**{f"{path}__isnull": True}) if model in _SHARED else inside


def namespace_path(model: type[Model]) -> str:
    """Return the field that refers to a row's namespace; empty for models of the installation."""
    if model in _PATHS:
        return _PATHS[model]
    try:
        model._meta.get_field("namespace")
    except FieldDoesNotExist:
        return ""
    return "namespace"
