"""Parts that the viewer fetches: a page as a picture, the position of the passage on it, the
original."""

import re
from collections.abc import Callable
from functools import wraps

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from rest_framework.exceptions import MethodNotAllowed

from documents.api.documents import original_of
from ragsite.platform.errors import ApiError

from . import drawing
from .opening import GONE, HEADERS, NotOpened, Opening, open_document
from .parameters import number
from .people import refused

# Cached only in the browser, and only briefly, because the link may be revoked.
PICTURE_HEADERS = {**HEADERS, "Cache-Control": "private, max-age=600"}
MAX_PAGE = 100_000
OpenedView = Callable[[HttpRequest, Opening], HttpResponseBase]


def opened_view(view: OpenedView) -> Callable[..., HttpResponseBase]:
    """Make a view of (request, opening) that answers GET with errors in the API's envelope."""

    @wraps(view)
    def wrapped(request: HttpRequest, token: str, key: str = "") -> HttpResponseBase:
        try:
            opening = open_document(request, token, key)
            if request.method not in ("GET", "HEAD"):
                raise MethodNotAllowed(str(request.method))
            return view(request, opening)
        except NotOpened as error:
            return refused(_not_opened(error))
        except Exception as error:
            return refused(error)

    return wrapped


@opened_view
def page_picture(request: HttpRequest, opening: Opening) -> HttpResponseBase:
    side = request.GET.get("side", "normal")
    if side not in drawing.SIDES:
        raise ApiError("invalid_request", "side: normal or large.", http_status=422)
    version = opening.version()
    response = HttpResponse(
        drawing.picture(version, _page(request), side=side), content_type="image/jpeg"
    )
    return _with(response, PICTURE_HEADERS)


@opened_view
def passage_marks(request: HttpRequest, opening: Opening) -> HttpResponseBase:
    start, end = number(request.GET, "start") or 0, number(request.GET, "end") or 0
    version = opening.version()
    marks = drawing.marks(
        opening.linked.namespace_id, version, _page(request), start=start, end=end
    )
    return _with(JsonResponse({"marks": marks}), PICTURE_HEADERS)


@opened_view
def original(request: HttpRequest, opening: Opening) -> HttpResponseBase:
    """Return the original file, for users who are signed in."""
    if opening.person is None:
        raise ApiError("not_signed_in", "Sign in to get the original.", http_status=401)
    version = opening.version()
    name = version.file_name or version.document.title or str(version.document_id)
    response = original_of(version, re.sub(r"[\x00-\x1f\x7f/\\]", "_", name)[:200])
    return _with(response, HEADERS)


def _page(request: HttpRequest) -> int:
    page = number(request.GET, "page")
    if page is None or not 1 <= page <= MAX_PAGE:
        raise ApiError("invalid_request", "page: a whole number from 1.", http_status=422)
    return page


def _not_opened(error: NotOpened) -> ApiError:
    code = "link_expired" if error.status == GONE else "not_found"
    message = "This link no longer works." if error.status == GONE else "This link leads nowhere."
    return ApiError(code, message, http_status=error.status)


def _with(response: HttpResponseBase, headers: dict[str, str]) -> HttpResponseBase:
    for name, value in headers.items():
        response[name] = value
    return response
