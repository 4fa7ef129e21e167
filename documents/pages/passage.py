"""GET /d/{token}: a cited passage, highlighted in the text around it.

A link opens one version of one document. After PASSAGE_LINK_DAYS it opens only for people who are
signed in and see the namespace.
"""

from dataclasses import dataclass
from typing import Any

from django.db.models import F
from django.db.models.functions import Length, Substr
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_safe

from documents.accounts.people import allowed_namespaces
from documents.models import DocumentVersion
from ragsite.database.tenancy import namespace

from .links import InvalidLink, LinkedDocument, read_token
from .people import signed_in

SHOWN = 20_000  # characters on one page
BEFORE = 6_000  # of these, in front of the passage
MAX_POSITION = 2**31 - 1

# The link is the key to the document: it must not reach other sites, caches or search engines.
HEADERS = {
    "Cache-Control": "private, no-store",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow",
}


@dataclass(frozen=True, slots=True)
class Window:
    """The part of a text that the page shows, and the passage inside it; positions in the text."""

    first: int
    last: int
    start: int
    end: int

    def cut(self, text: str) -> tuple[str, str, str]:
        """Split the shown text into what precedes the passage, the passage, and what follows."""
        a, b = self.start - self.first, self.end - self.first
        return text[:a], text[a:b], text[b:]


def window(length: int, *, start: int, end: int, first: int | None = None) -> Window:
    """`first` is where the page begins; by default a little before the passage."""
    start = min(max(start, 0), length)
    end = min(max(end, start), length)
    first = max(start - BEFORE, 0) if first is None else min(max(first, 0), length)
    last = min(first + SHOWN, length)
    return Window(first, last, min(max(start, first), last), min(max(end, first), last))


@require_safe
def passage_page(request: HttpRequest, token: str) -> HttpResponse:
    try:
        linked = read_token(token)
    except InvalidLink:
        return _sorry(request, 404)
    if linked.is_expired and not _may_see(request, linked):
        return _sorry(request, 410)
    found = _shown(linked, request.GET)
    if found is None:
        return _sorry(request, 404)
    return _page(request, "pages/passage.html", found)


def _shown(linked: LinkedDocument, parameters: QueryDict) -> dict[str, Any] | None:
    """Return what the template needs; None if the document or this version is gone."""
    with namespace(linked.namespace_id):
        versions = DocumentVersion.objects.filter(
            document_id=linked.document_id,
            number=linked.version,
            published_at__isnull=False,
            namespace__deleting_since__isnull=True,
        ).select_related("document")
        version = (
            versions.defer("text")
            .annotate(length=Length("text"), live_version=F("document__live_version"))
            .first()
        )
        if version is None:
            return None
        start, end = _number(parameters, "start") or 0, _number(parameters, "end") or 0
        seen = window(version.length, start=start, end=end, first=_number(parameters, "from"))
        text = versions.values_list(Substr("text", seen.first + 1, SHOWN), flat=True)[0]
    before, passage, after = seen.cut(text)
    return {
        "document": version.document,
        "version": version,
        "before": before,
        "passage": passage,
        "after": after,
        "page": _page_at(version.outline.get("pages", []), start) if passage else None,
        "section": _section_at(version.outline.get("headings", []), start) if passage else "",
        "is_superseded": version.number != version.live_version,
        "start": start,
        "end": end,
        "earlier": max(seen.first - SHOWN, 0) if seen.first else None,
        "later": seen.last if seen.last < version.length else None,
    }


def _number(parameters: QueryDict, name: str) -> int | None:
    value = parameters.get(name, "")
    if not (value.isascii() and value.isdecimal() and len(value) <= 10):
        return None
    return min(int(value), MAX_POSITION)


def _sorry(request: HttpRequest, status: int) -> HttpResponse:
    return _page(request, "pages/no_passage.html", {"is_expired": status == 410}, status=status)


def _page(
    request: HttpRequest, template: str, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    response = render(request, template, context, status=status)
    for name, value in HEADERS.items():
        response[name] = value
    return response


def _may_see(request: HttpRequest, linked: LinkedDocument) -> bool:
    user = signed_in(request)
    if user is None:
        return False
    allowed = allowed_namespaces(user)
    return allowed is None or linked.namespace_id in allowed


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
