"""GET /d/{token}: a cited passage, highlighted in the text around it and on its page.

A link opens one version of one document. After PASSAGE_LINK_DAYS it works only for users who are
signed in and may see the namespace. GET /s/{key}/d/{token} does the same for visitors of a public
link.
"""

from dataclasses import dataclass
from typing import Any

from django.db.models import F
from django.db.models.functions import Length, Substr
from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_safe

from documents.models import DocumentVersion, NamespaceLink
from ragsite.access.rate_limits import RateLimited
from ragsite.database.tenancy import namespace

from . import drawing
from .frame import frame
from .opening import GONE, HEADERS, NOT_FOUND, NotOpened, Opening, open_document
from .parameters import number

SHOWN = 20_000  # characters on one page
BEFORE = 6_000  # of these, the number before the passage


@dataclass(frozen=True, slots=True)
class Window:
    """The part of a text that the page shows, and the passage in it, as positions in the text."""

    first: int
    last: int
    start: int
    end: int

    def cut(self, text: str) -> tuple[str, str, str]:
        """Split the shown text into what precedes the passage, the passage, and what follows."""
        a, b = self.start - self.first, self.end - self.first
        return text[:a], text[a:b], text[b:]


def window(length: int, *, start: int, end: int, first: int | None = None) -> Window:
    """`first` is the start of the page; by default a little before the passage."""
    start = min(max(start, 0), length)
    end = min(max(end, start), length)
    first = max(start - BEFORE, 0) if first is None else min(max(first, 0), length)
    last = min(first + SHOWN, length)
    return Window(first, last, min(max(start, first), last), min(max(end, first), last))


@require_safe
def passage_page(request: HttpRequest, token: str, key: str = "") -> HttpResponseBase:
    try:
        opening = open_document(request, token, key)
        context = _shown(opening, request.GET)
    except NotOpened as error:
        return refusal_page(request, error.status, is_public=bool(key))
    except RateLimited as error:
        return refusal_page(request, error.status_code, is_public=True)
    return _page(request, "pages/passage.html", context)


def refusal_page(request: HttpRequest, status: int, *, is_public: bool = False) -> HttpResponse:
    """Return the page that says why nothing is shown."""
    context = {
        "is_expired": status == GONE,
        "is_busy": status not in (GONE, NOT_FOUND),
        "is_public": is_public,
    }
    return _page(request, "pages/no_passage.html", context, status=status)


def _shown(opening: Opening, parameters: QueryDict) -> dict[str, Any]:
    """Return the context of the template. Raises NotOpened if the document or version was
    deleted."""
    start, end = number(parameters, "start") or 0, number(parameters, "end") or 0
    with namespace(opening.linked.namespace_id):
        versions = opening.versions()
        version = (
            versions.defer("text")
            .annotate(length=Length("text"), live_version=F("document__live_version"))
            .first()
        )
        if version is None:
            raise NotOpened(NOT_FOUND)
        pages = version.outline.get("pages", [])
        page = _chosen_page(pages, parameters, start)
        first = number(parameters, "from")
        if first is None and page and number(parameters, "page"):
            first = page["start"]
        seen = window(version.length, start=start, end=end, first=first)
        text = versions.values_list(Substr("text", seen.first + 1, SHOWN), flat=True)[0]
    before, passage, after = seen.cut(text)
    has_passage = start < end <= version.length
    return {
        **frame(opening.person),
        "opening": opening,
        "shared_name": shared_name(opening.via),
        "document": version.document,
        "version": version,
        "before": before,
        "passage": passage,
        "after": after,
        "has_passage": has_passage,
        "page": _page_at(pages, start) if has_passage else None,
        "section": _section_at(version.outline.get("headings", []), start) if has_passage else "",
        "is_superseded": version.number != version.live_version,
        "start": start,
        "end": end,
        "earlier": max(seen.first - SHOWN, 0) if seen.first else None,
        "later": seen.last if seen.last < version.length else None,
        **_picture(version, pages, page),
    }


def shared_name(via: NamespaceLink | None) -> str:
    return via.namespace.name or via.namespace.slug if via else ""


def _picture(
    version: DocumentVersion, pages: list[dict[str, Any]], page: dict[str, Any] | None
) -> dict[str, Any]:
    """Return the page that is shown as a picture, and its neighbours."""
    if page is None or not drawing.has_pictures(version):
        return {"shown_page": None}
    shown = int(page["number"])
    return {
        "shown_page": shown,
        "pages_count": len(pages),
        "previous_page": shown - 1 if shown > 1 else None,
        "next_page": shown + 1 if shown < len(pages) else None,
    }


def _chosen_page(
    pages: list[dict[str, Any]], parameters: QueryDict, start: int
) -> dict[str, Any] | None:
    wanted = number(parameters, "page") or _page_at(pages, start)
    named = next((page for page in pages if page["number"] == wanted), None)
    return named or (pages[0] if pages else None)


def _page(
    request: HttpRequest, template: str, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    response = render(request, template, context, status=status)
    for name, value in HEADERS.items():
        response[name] = value
    return response


def _page_at(pages: list[dict[str, Any]], position: int) -> int | None:
    for page in pages:
        if page["start"] <= position < page["end"]:
            return int(page["number"])
    return None


def _section_at(headings: list[dict[str, Any]], position: int) -> str:
    path: list[dict[str, Any]] = []
    for heading in headings:
        if heading["start"] > position:
            break
        while path and path[-1]["level"] >= heading["level"]:
            path.pop()
        path.append(heading)
    return " > ".join(heading["title"] for heading in path)
