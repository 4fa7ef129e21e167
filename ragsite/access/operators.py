"""Runs the Django admin and signing in, and no other route, as the operator role."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from ragsite.database.tenancy import operator

# These routes begin and end sessions, which the middleware around the views stores.
SESSION_PATHS = frozenset({"/sign-in", "/sign-out"})


def operator_middleware(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    def answer(request: HttpRequest) -> HttpResponse:
        if not _is_of_operator(request):
            return get_response(request)
        with operator():
            return get_response(request)

    return answer


def _is_of_operator(request: HttpRequest) -> bool:
    return request.path_info.startswith("/admin/") or request.path_info in SESSION_PATHS
