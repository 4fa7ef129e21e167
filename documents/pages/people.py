"""People who are signed in: which of the pages' views they may call, and which namespaces they see.

Sessions, users and the list of namespaces are the operator role's tables; a namespace's content is
read inside namespace() as everywhere else.
"""

import json
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest, HttpResponseBase, JsonResponse
from rest_framework.exceptions import MethodNotAllowed, ParseError

from documents.accounts.people import allowed_namespaces, may_use_pages
from documents.models import Namespace
from ragsite.access.actor import USER, set_actor
from ragsite.database.tenancy import operator
from ragsite.platform.errors import ApiError, exception_handler

View = Callable[..., HttpResponseBase]


def signed_in(request: HttpRequest) -> AbstractBaseUser | None:
    """Return the user, if it is one who may use the pages."""
    with operator():
        user = request.user
        if isinstance(user, AbstractBaseUser) and may_use_pages(user):
            return user
    return None


def namespaces_of(user: AbstractBaseUser) -> list[Namespace]:
    """Return the namespaces that the user may see, by name."""
    allowed = allowed_namespaces(user)
    with operator():
        found = Namespace.objects.filter(deleting_since__isnull=True).only("slug", "name")
        return list(found if allowed is None else found.filter(pk__in=allowed))


def find_namespace(user: AbstractBaseUser, slug: Any) -> Namespace:
    for namespace in namespaces_of(user):
        if namespace.slug == slug:
            return namespace
    raise ApiError("not_found", "There is no such namespace.", http_status=404)


def json_view(view: Callable[..., HttpResponseBase]) -> View:
    """Make a view of (request, user, data) that takes JSON from signed-in people only.

    Its errors come in the API's envelope. Django's CSRF check applies, as to every session.
    """

    @wraps(view)
    def wrapped(request: HttpRequest) -> HttpResponseBase:
        try:
            user = signed_in(request)
            if user is None:
                raise ApiError("not_signed_in", "Sign in first.", http_status=401)
            if request.method != "POST":
                raise MethodNotAllowed(str(request.method))
            set_actor(USER, user.get_username())
            return view(request, user, _body(request))
        except Exception as error:
            return _refused(error)

    return wrapped


def _refused(error: Exception) -> HttpResponseBase:
    shown = exception_handler(error, {})
    response = JsonResponse(shown.data, status=shown.status_code)
    if "Retry-After" in shown.headers:
        response["Retry-After"] = shown.headers["Retry-After"]
    return response


def _body(request: HttpRequest) -> dict[str, Any]:
    try:
        data = json.loads(request.body)
    except ValueError:
        raise ParseError("The body is not JSON.") from None
    if not isinstance(data, dict):
        raise ParseError("The body is not a JSON object.")
    return data
