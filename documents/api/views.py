"""What the API views of a namespace share: its transaction, its pages, its honest filters."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, cast

from rest_framework.exceptions import ValidationError
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from ragsite.auth import Caller
from ragsite.tenancy import namespace

from .pages import NewestFirst, Pages


def caller_of(request: Request) -> Caller:
    return cast(Caller, request.auth)  # HasScope lets nobody else in


def in_namespace(handler: Callable[..., Response]) -> Callable[..., Response]:
    """Run a short handler inside its caller's namespace, one transaction for all of it."""

    @wraps(handler)
    def wrapped(view: Any, request: Request, *args: Any, **kwargs: Any) -> Response:
        with namespace(caller_of(request).namespace_id):
            return handler(view, request, *args, **kwargs)

    return wrapped


class NamespacedListView(ListAPIView):
    """A cursor-paged list that refuses query parameters it does not know."""

    pagination_class: type[Pages] = NewestFirst
    filter_names: frozenset[str] = frozenset()
    filter_choices: Mapping[str, Sequence[str]] = {}

    @in_namespace
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        unknown = set(request.query_params) - self.filter_names - {"cursor", "limit"}
        if unknown:
            raise ValidationError(dict.fromkeys(sorted(unknown), "There is no such filter here."))
        for name, value in request.query_params.items():
            if "\x00" in value:
                raise ValidationError({name: "NUL characters are not allowed."})
            choices = self.filter_choices.get(name)
            if choices is not None and value not in choices:
                raise ValidationError({name: f"Use one of: {', '.join(choices)}."})
        return super().get(request, *args, **kwargs)
