"""Lets the Django admin, and nothing else on the web, run as the operator role."""

from collections.abc import Callable
from inspect import iscoroutinefunction
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.decorators import sync_and_async_middleware

from .tenancy import operator


@sync_and_async_middleware
def operator_middleware(get_response: Callable[..., Any]) -> Callable[..., Any]:
    if iscoroutinefunction(get_response):

        async def asynchronously(request: HttpRequest) -> HttpResponse:
            if not _is_admin(request):
                return await get_response(request)
            with operator():
                return await get_response(request)

        return asynchronously

    def synchronously(request: HttpRequest) -> HttpResponse:
        if not _is_admin(request):
            return get_response(request)
        with operator():
            return get_response(request)

    return synchronously


def _is_admin(request: HttpRequest) -> bool:
    return request.path_info.startswith("/admin/")
