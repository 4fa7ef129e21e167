"""Runs the Django admin, and no other route, as the operator role."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from ragsite.database.tenancy import operator


def operator_middleware(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    def answer(request: HttpRequest) -> HttpResponse:
        if not _is_admin(request):
            return get_response(request)
        with operator():
            return get_response(request)

    return answer


def _is_admin(request: HttpRequest) -> bool:
    return request.path_info.startswith("/admin/")
