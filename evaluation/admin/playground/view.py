"""The page. A GET searches, so that its address can be bookmarked and shared; a POST writes an
answer, which may cost money, or adds the question to a golden set."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse

from documents.admin.parameters import uuid_or_404
from documents.errors import IngestError
from documents.models import Namespace
from documents.pages.links import base_url_of
from documents.pages.people import namespaces_of
from evaluation.errors import BadGoldenSet
from evaluation.golden import curating
from evaluation.models import GoldenSet
from retrieval.cache import results
from retrieval.search import search

from . import calls
from .answers import ShownAnswer, write_answer
from .options import ConfigurationForm
from .presenting import Side, compare, present

MAX_QUERY_LENGTH = curating.MAX_QUERY_LENGTH
NAMES = ("a", "b")
TAG = "from-playground"


@dataclass(slots=True)
class Configuration:
    """One column of the page."""

    name: str
    form: ConfigurationForm
    side: Side | None = None
    curl: str = ""
    python: str = ""
    problem: str = ""
    answer: ShownAnswer | str | None = None


def playground_view(model_admin: admin.ModelAdmin) -> Callable[[HttpRequest], HttpResponse]:
    def view(request: HttpRequest) -> HttpResponse:
        if not model_admin.has_view_permission(request):
            raise PermissionDenied
        namespaces = namespaces_of(cast(AbstractBaseUser, request.user))
        wanted = request.GET.get("namespace", "")
        chosen = next((one for one in namespaces if one.slug == wanted), None)
        if chosen is None and len(namespaces) == 1:
            chosen = namespaces[0]
        text = request.GET.get("q", "").replace("\x00", "").strip()[:MAX_QUERY_LENGTH]
        if request.method == "POST" and chosen and "golden_set" in request.POST:
            return _add_to_set(request, chosen, text)
        columns = _configurations(request)
        if chosen and text:
            _search(request, chosen, text, columns)
        context = {
            **model_admin.admin_site.each_context(request),
            "title": "Playground",
            "opts": model_admin.opts,
            "namespaces": namespaces,
            "chosen": chosen,
            "text": text,
            "columns": columns,
            "is_comparing": len(columns) > 1,
            "one_address": _address(request, without_b=True),
            "two_address": _address(request, two="1"),
            "golden_sets": _sets(request, chosen),
        }
        return TemplateResponse(request, "admin/evaluation/playground.html", context)

    return view


def address_of(namespace: str, text: str = "", **options: Any) -> str:
    """Return a link to the playground. `options` are fields of the first configuration."""
    fields = {"namespace": namespace, "q": text} | {f"a-{k}": v for k, v in options.items()}
    given = {name: value for name, value in fields.items() if value not in ("", None)}
    return f"{reverse('admin:playground')}?{urlencode(given)}"


def _configurations(request: HttpRequest) -> list[Configuration]:
    """Return the configurations to show: two only if the second one is requested."""
    names = NAMES if request.GET.get("two") else NAMES[:1]
    return [Configuration(name, ConfigurationForm(request.GET, prefix=name)) for name in names]


def _search(
    request: HttpRequest, chosen: Namespace, text: str, columns: list[Configuration]
) -> None:
    url = base_url_of(request)
    for column in columns:
        asked = column.form.request(text) if column.form.is_valid() else None
        if asked is None:
            continue
        body = column.form.body(text)
        column.curl, column.python = calls.curl(url, body), calls.python(url, body)
        try:
            with results.bypassed():  # a result from the cache has no timings
                found = search(chosen.pk, asked)
            column.side = present(column.name, found)
        except IngestError as error:
            column.problem = str(error)
            continue
        if request.method == "POST" and request.POST.get("answer") == column.name:
            column.answer = write_answer(chosen.pk, asked, base_url=url)
    sides = [column.side for column in columns if column.side]
    if len(sides) == len(NAMES):
        compare(sides[0], sides[1])


def _sets(request: HttpRequest, chosen: Namespace | None) -> list[GoldenSet]:
    if chosen is None or not request.user.has_perm("evaluation.change_goldenset"):
        return []
    return list(GoldenSet.objects.filter(namespace=chosen.pk))


def _add_to_set(request: HttpRequest, chosen: Namespace, text: str) -> HttpResponse:
    """Add the question with its filters, and continue with judging its results."""
    if not request.user.has_perm("evaluation.change_goldenset"):
        raise PermissionDenied
    here = HttpResponseRedirect(request.get_full_path())
    form = ConfigurationForm(request.GET, prefix="a")
    filters = (form.cleaned_data.get("filters") if form.is_valid() else None) or {}
    try:
        golden_set = _chosen_set(request, chosen)
        query = curating.add_query(golden_set, text, filters=filters, tags=[TAG])
    except BadGoldenSet as error:
        messages.error(request, str(error))
        return here
    messages.success(request, f"The question is in {golden_set.name}. Now grade what it finds.")
    judge = reverse("admin:evaluation_goldenset_judge", args=[golden_set.pk])
    return HttpResponseRedirect(f"{judge}?{urlencode({'query': query.pk})}")


def _chosen_set(request: HttpRequest, chosen: Namespace) -> GoldenSet:
    wanted = request.POST["golden_set"]
    if wanted:
        pk: uuid.UUID = uuid_or_404(wanted)
        found = GoldenSet.objects.filter(namespace=chosen.pk, pk=pk).first()
        if found is None:
            raise BadGoldenSet("There is no such golden set in this namespace.")
        return found
    name = request.POST.get("new_set", "").strip()[:200]
    if not name:
        raise BadGoldenSet("Choose a golden set, or name a new one.")
    if "\x00" in name:
        raise BadGoldenSet("A name cannot hold NUL characters.")
    golden_set, _ = GoldenSet.objects.get_or_create(namespace_id=chosen.pk, name=name)
    return golden_set


def _address(request: HttpRequest, *, without_b: bool = False, **changed: str) -> str:
    """Return the address of this page with another set of columns."""
    fields = request.GET.copy()
    fields.pop("two", None)
    if without_b:
        for name in [name for name in fields if name.startswith("b-")]:
            del fields[name]
    for name, value in changed.items():
        fields[name] = value
    return f"?{fields.urlencode()}"
