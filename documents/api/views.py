"""Common parts of the API views of a namespace: the transaction, pagination and strict filters."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, cast

from rest_framework.exceptions import ValidationError
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from ragsite.access.auth import Caller
from ragsite.access.rate_limits import BY_METHOD
from ragsite.database.tenancy import namespace

from .pages import NewestFirst, Pages


def caller_of(request: Request) -> Caller:
    return cast(Caller, request.auth)  # HasScope accepts no other credentials


def in_namespace(handler: Callable[..., Response]) -> Callable[..., Response]:
    """Run a short handler inside its caller's namespace, one transaction for all of it."""

    @wraps(handler)
    def wrapped(view: Any, request: Request, *args: Any, **kwargs: Any) -> Response:
        with namespace(caller_of(request).namespace_id):
            return handler(view, request, *args, **kwargs)

    return wrapped


class NamespacedListView(ListAPIView):
    """A cursor-paged list that refuses query parameters it does not know."""

    rate_class: str | Mapping[str, str] = BY_METHOD
    pagination_class: type[Pages] = NewestFirst
    filter_names: frozenset[str] = frozenset()
    choices: Mapping[str, Sequence[str]] = {}  # allowed values of filters that have only a few

    @in_namespace
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        check_parameters(request, self.filter_names | {"cursor", "limit"}, self.choices)
        return super().get(request, *args, **kwargs)


def check_parameters(
    request: Request, known: frozenset[str], choices: Mapping[str, Sequence[str]] | None = None
) -> None:
    """Raise ValidationError for unknown parameters, repeated ones and invalid values."""
    unknown = set(request.query_params) - known
    if unknown:
        raise ValidationError(dict.fromkeys(sorted(unknown), "There is no such filter here."))
    for name, values in request.query_params.lists():
        if len(values) > 1:
            raise ValidationError({name: "Can be given only once."})
        if "\x00" in values[0] and name != "cursor":
            raise ValidationError({name: "NUL characters are not allowed."})
        allowed = (choices or {}).get(name)
        if allowed is not None and values[0] not in allowed:
            raise ValidationError({name: f"Use one of: {', '.join(allowed)}."})


def uuid_in(request: Request, name: str) -> uuid.UUID:
    """Return a required query parameter as a UUID."""
    try:
        return uuid.UUID(request.query_params[name])
    except (KeyError, ValueError):
        raise ValidationError({name: "Must be a UUID."}) from None
