"""Users who are signed in: which views they may call, and which namespaces they may see.

Sessions, users and the list of namespaces are in tables of the operator role; the content of a
namespace is read inside namespace(), as everywhere else.
"""

import json
from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseRedirect,
    JsonResponse,
)
from django.urls import reverse
from rest_framework.exceptions import MethodNotAllowed, ParseError

from documents.accounts.people import allowed_namespaces, may_use_pages
from documents.models import Namespace
from ragsite.access.actor import USER, set_actor
from ragsite.database.tenancy import operator
from ragsite.platform.errors import ApiError, exception_handler

View = Callable[..., HttpResponseBase]

LAST_NAMESPACE = "last_namespace"  # a cookie with its slug
REMEMBERED_SECONDS = 365 * 86_400


def signed_in(request: HttpRequest) -> AbstractBaseUser | None:
    """Return the user, if they may use the pages."""
    with operator():
        user = request.user
        return user if isinstance(user, AbstractBaseUser) and may_use_pages(user) else None


def is_operator(user: AbstractBaseUser) -> bool:
    """Whether the user may open the admin."""
    return bool(getattr(user, "is_staff", False))


def namespaces_of(user: AbstractBaseUser) -> list[Namespace]:
    """Return the namespaces that the user may see, sorted by name."""
    allowed = allowed_namespaces(user)
    with operator():
        found = Namespace.objects.filter(deleting_since__isnull=True).only("slug", "name")
        return list(found if allowed is None else found.filter(pk__in=allowed))


def find_namespace(user: AbstractBaseUser, slug: Any) -> Namespace:
    for namespace in namespaces_of(user):
        if namespace.slug == slug:
            return namespace
    raise ApiError("not_found", "There is no such namespace.", http_status=404)


def chosen_namespace(request: HttpRequest, namespaces: list[Namespace]) -> Namespace | None:
    """Return the namespace that the address names, or else the one chosen last, or else the
    first."""
    wanted = request.GET.get("namespace") or request.COOKIES.get(LAST_NAMESPACE, "")
    first = namespaces[0] if namespaces else None
    return next((each for each in namespaces if each.slug == wanted), first)


def remember(response: HttpResponse, chosen: Namespace | None) -> HttpResponse:
    """Store the namespace in a cookie, so that the pages open with it next time."""
    if chosen is not None:
        response.set_cookie(
            LAST_NAMESPACE,
            chosen.slug,
            max_age=REMEMBERED_SECONDS,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )
    return response


def page_view(view: View) -> View:
    """Make a view of (request, user, …) for signed-in users; others are redirected to sign in."""

    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        user = signed_in(request)
        if user is None:
            back = urlencode({"next": request.get_full_path()})
            return HttpResponseRedirect(f"{reverse('sign-in')}?{back}")
        if request.method not in ("GET", "HEAD"):
            return refused(MethodNotAllowed(str(request.method)))
        return view(request, user, *args, **kwargs)

    return wrapped


def json_view(view: View) -> View:
    """Make a view of (request, user, data, …) that accepts JSON from signed-in users. Errors have
    the API's envelope. Django's CSRF check applies, as for every session."""
    return _posted(view, json_body)


def form_view(view: View) -> View:
    """The same for multipart forms: `data` has the form's fields and files."""
    return _posted(view, _form)


def _posted(view: View, read: Callable[[HttpRequest], Any]) -> View:
    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            user = signed_in(request)
            if user is None:
                raise ApiError("not_signed_in", "Sign in first.", http_status=401)
            if request.method != "POST":
                raise MethodNotAllowed(str(request.method))
            set_actor(USER, user.get_username())
            return view(request, user, read(request), *args, **kwargs)
        except Exception as error:
            return refused(error)

    return wrapped


def refused(error: Exception) -> HttpResponseBase:
    """Return an error in the API's envelope."""
    shown = exception_handler(error, {})
    response = JsonResponse(shown.data, status=shown.status_code)
    if "Retry-After" in shown.headers:
        response["Retry-After"] = shown.headers["Retry-After"]
    return response


def json_body(request: HttpRequest) -> dict[str, Any]:
    try:
        data = json.loads(request.body)
    except ValueError:
        raise ParseError("The body is not JSON.") from None
    if not isinstance(data, dict):
        raise ParseError("The body is not a JSON object.")
    return data


def _form(request: HttpRequest) -> Any:
    data: Any = request.POST.copy()
    for name, files in request.FILES.lists():
        data.setlist(name, files)
    return data
