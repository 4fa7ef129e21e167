"""RateLimit headers on responses to keys; the response to a refused call is remembered."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from .rate_limits import Admission
from .refused_calls import Call, refused_calls


def rate_limit_middleware(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Add the RateLimit headers to every response to a key, errors included."""

    def answer(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        admitted: Admission | None = getattr(request, "admission", None)
        if admitted is not None:
            for name, value in admitted.headers.items():
                response.headers[name] = value
            refused: Call | None = getattr(request, "refused_call", None)
            if refused is not None:
                refused_calls.remember(refused, admitted, dict(response.headers))
        return response

    return answer
