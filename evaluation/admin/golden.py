"""Golden sets, their queries and judgements."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.forms import BaseModelFormSet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from documents.accounts import audit
from documents.admin.audited import Audited
from documents.admin.titles import NamedCells
from evaluation.errors import BadGoldenSet
from evaluation.golden import curating
from evaluation.golden.exporting import questions_of
from evaluation.golden.formats import write_jsonl
from evaluation.models import GoldenQuery, GoldenSet, Judgement
from ragsite.platform.wording import plural
from ragsite.web.markup import when

from .judged_documents import URL_NAME, DocumentSelect, documents_view
from .judging import judge_view
from .starting import start_view

MAX_INLINE_QUERIES = 100  # maximum number of queries in the form of their set
AFTER_SAVING = "after saving"


class QueryForm(forms.ModelForm):
    class Meta:
        model = GoldenQuery
        fields = ("text", "filters", "tags", "notes")
        widgets = {
            "text": forms.Textarea(attrs={"rows": 2, "cols": 36}),
            "filters": forms.Textarea(attrs={"rows": 1, "cols": 12}),
            "notes": forms.Textarea(attrs={"rows": 1, "cols": 16}),
        }

    def clean(self) -> dict[str, Any]:
        fields = super().clean() or self.cleaned_data
        try:
            curating.check_query(fields.get("text", ""), fields.get("filters") or {})
        except BadGoldenSet as error:
            raise ValidationError(str(error)) from None
        return fields


class QueryInline(NamedCells, admin.TabularInline):
    model = GoldenQuery
    form = QueryForm
    extra = 1
    show_change_link = True


@admin.register(GoldenSet)
class GoldenSetAdmin(Audited, admin.ModelAdmin):
    list_display = ("name", "namespace", "queries_count", "judge", "evaluate", "updated")
    list_filter = ("namespace",)
    list_select_related = ("namespace",)
    search_fields = ("name", "description")
    search_help_text = "Name or description"
    when_empty = (
        "A golden set holds questions with judged passages; runs measure how well they are found."
    )
    fields = ("namespace", "name", "description", "queries_link", "judge", "evaluate")
    readonly_fields = ("queries_link", "judge", "evaluate")
    inlines = (QueryInline,)
    actions = ("export",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[GoldenSet]:
        queries = GoldenQuery.objects.filter(golden_set=OuterRef("pk"))
        return super().get_queryset(request).annotate(queries_count=_counted(queries, "golden_set"))

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("namespace", *self.readonly_fields) if obj else self.readonly_fields

    @admin.display(description="changed", ordering="updated_at")
    def updated(self, golden_set: GoldenSet) -> SafeString:
        return when(golden_set.updated_at)

    @admin.display(description="queries", ordering="queries_count")
    def queries_count(self, golden_set: Any) -> SafeString:
        return _listed(golden_set.pk, golden_set.queries_count)

    def get_inlines(self, request: HttpRequest, obj: Any = None) -> tuple[Any, ...]:
        """Leave out inline queries for a large set, whose form would exceed Django's limit of
        fields."""
        is_long = obj is not None and obj.queries.count() > MAX_INLINE_QUERIES
        return () if is_long else self.inlines

    @admin.display(description="queries")
    def queries_link(self, golden_set: GoldenSet) -> SafeString | str:
        if golden_set._state.adding:
            return AFTER_SAVING
        return _listed(golden_set.pk, plural(golden_set.queries.count(), "query"))

    @admin.display(description="search and judge")
    def judge(self, golden_set: GoldenSet) -> SafeString | str:
        return _link("admin:evaluation_goldenset_judge", golden_set, "Search and judge")

    @admin.display(description="measure")
    def evaluate(self, golden_set: GoldenSet) -> SafeString | str:
        return _link("admin:evaluation_goldenset_start", golden_set, "Start a run")

    @admin.action(description="Export as JSONL")
    def export(self, request: HttpRequest, queryset: QuerySet[GoldenSet]) -> HttpResponse | None:
        if len(queryset) != 1:
            self.message_user(request, "Choose one set.", messages.WARNING)
            return None
        golden_set = queryset[0]
        audit.record("goldenset.export", namespace=golden_set.namespace_id, target=golden_set)
        answer = HttpResponse(
            "".join(write_jsonl(questions_of(golden_set))), content_type="application/jsonl"
        )
        answer["Content-Disposition"] = 'attachment; filename="golden-set.jsonl"'
        return answer

    def save_formset(
        self, request: HttpRequest, form: Any, formset: BaseModelFormSet, change: bool
    ) -> None:
        for query in formset.save(commit=False):
            query.namespace_id = form.instance.namespace_id
            query.save()
        for deleted in formset.deleted_objects:
            deleted.delete()
        curating.touch(form.instance.pk)

    def get_urls(self) -> list[URLPattern]:
        site = self.admin_site
        return [
            path(
                "<uuid:pk>/judge/",
                site.admin_view(judge_view(self)),
                name="evaluation_goldenset_judge",
            ),
            path(
                "<uuid:pk>/start/",
                site.admin_view(start_view(self)),
                name="evaluation_goldenset_start",
            ),
            *super().get_urls(),
        ]


def _counted(rows: QuerySet[Any], owner: str) -> Coalesce:
    """Count the rows of each owner, with one index lookup for each owner shown."""
    counted = rows.order_by().values(owner).annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counted), 0)


def _listed(golden_set: Any, text: Any) -> SafeString:
    address = reverse("admin:evaluation_goldenquery_changelist")
    return format_html('<a href="{}?golden_set__id__exact={}">{}</a>', address, golden_set, text)


def _link(name: str, golden_set: GoldenSet, text: str) -> SafeString | str:
    if golden_set._state.adding:
        return AFTER_SAVING
    return format_html('<a href="{}">{}</a>', reverse(name, args=[golden_set.pk]), text)


class JudgementForm(forms.ModelForm):
    """A new judgement is located by its quotation; an existing one keeps its position."""

    class Meta:
        model = Judgement
        fields = ("document", "quote", "grade", "part", "is_hard_negative")
        widgets = {"quote": forms.Textarea(attrs={"rows": 2, "cols": 44})}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["part"].required = False
        if not self.instance._state.adding:
            for name in ("document", "quote"):
                self.fields[name].disabled = True

    def clean(self) -> dict[str, Any]:
        fields = super().clean() or self.cleaned_data
        if fields.get("is_hard_negative"):
            fields["grade"] = 0
        fields["part"] = fields.get("part") or 0
        if not self.instance._state.adding:
            return fields
        document = fields.get("document")
        if document is None:
            raise ValidationError("Choose a document.")
        self.instance.source_uri = document.source_uri
        if fields.get("quote"):
            try:
                start, end, quote = curating.placed(document, span=None, quote=fields["quote"])
            except BadGoldenSet as error:
                raise ValidationError(str(error)) from None
            fields["quote"] = quote
            self.instance.start, self.instance.end = start, end
        return fields


class JudgementFormSet(forms.BaseInlineFormSet):
    def clean(self) -> None:
        super().clean()
        places = set()
        for form in self.forms:
            fields = getattr(form, "cleaned_data", {})
            document = fields.get("document")
            if not document or fields.get("DELETE"):
                continue
            if document.namespace_id != self.instance.namespace_id:
                raise ValidationError(f"{document} belongs to another namespace.")
            place = (document.pk, form.instance.start, form.instance.end)
            if place in places:
                raise ValidationError("The same place is judged twice.")
            places.add(place)


class JudgementInline(NamedCells, admin.TabularInline):
    model = Judgement
    form = JudgementForm
    formset = JudgementFormSet
    extra = 0

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        match = request.resolver_match
        if db_field.name == "document" and match and "object_id" in match.kwargs:
            site = self.admin_site
            kwargs["widget"] = DocumentSelect(db_field, site, match.kwargs["object_id"])
        return super().formfield_for_foreignkey(db_field, request, **kwargs)


@admin.register(GoldenQuery)
class GoldenQueryAdmin(Audited, admin.ModelAdmin):
    form = QueryForm
    list_display = ("text", "shown_tags", "golden_set", "namespace", "judged", "judge")
    list_filter = ("golden_set", "namespace")
    list_select_related = ("golden_set", "namespace")
    search_fields = ("text", "notes")
    search_help_text = "Words of a query or its notes"
    fields = ("golden_set", "text", "filters", "tags", "notes", "judge")
    readonly_fields = ("golden_set", "judge")
    inlines = (JudgementInline,)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False  # added in its set

    def get_queryset(self, request: HttpRequest) -> QuerySet[GoldenQuery]:
        judgements = Judgement.objects.filter(query=OuterRef("pk"))
        return super().get_queryset(request).annotate(judged=_counted(judgements, "query"))

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(documents_view)
        return [path("<uuid:pk>/documents/", view, name=URL_NAME), *super().get_urls()]

    @admin.display(description="tags")
    def shown_tags(self, query: GoldenQuery) -> str:
        return ", ".join(query.tags)

    @admin.display(description="judgements", ordering="judged")
    def judged(self, query: Any) -> int:
        return int(query.judged)

    @admin.display(description="search and judge")
    def judge(self, query: GoldenQuery) -> SafeString:
        address = reverse("admin:evaluation_goldenset_judge", args=[query.golden_set_id])
        return format_html('<a href="{}?query={}">Search and judge</a>', address, query.pk)

    def save_formset(
        self, request: HttpRequest, form: Any, formset: BaseModelFormSet, change: bool
    ) -> None:
        for judgement in formset.save(commit=False):
            judgement.namespace_id = form.instance.namespace_id
            judgement.save()
        for deleted in formset.deleted_objects:
            deleted.delete()
        curating.touch(form.instance.golden_set_id)
