"""Reindexes in the admin: start one, watch it, compare, switch, roll back, reclaim."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from documents.admin.confirmation import confirm_first
from documents.admin.readonly import ReadOnlyAdmin
from documents.errors import IngestError
from documents.models import Reindex
from documents.reindex import switching
from ragsite.database.tenancy import namespace
from retrieval import parity

SHOWN = (
    "namespace",
    "replaces",
    "profile",
    "state",
    "bar",
    "left",
    "comparison",
    "failed",
    "chunks_built",
    "created_at",
    "built_at",
    "switched_at",
    "ended_at",
)


class ReindexForm(forms.ModelForm):
    def clean(self) -> dict[str, Any]:
        fields = super().clean() or {}
        if "namespace" in fields and "profile" in fields:
            try:
                switching.require_possible(fields["namespace"].pk, fields["profile"])
            except IngestError as error:
                raise forms.ValidationError(str(error)) from None
        return fields


@admin.register(Reindex)
class ReindexAdmin(ReadOnlyAdmin):
    audits_additions = False  # switching.start audits
    form = ReindexForm
    list_display = ("namespace", "replaces", "profile", "state", "bar", "left", "alike")
    list_filter = ("state", "namespace", "profile")
    list_select_related = ("namespace", "profile", "replaces")
    readonly_fields = ("bar", "left", "comparison", "failed")
    actions = ("compare", "switch", "roll_back", "reclaim", "cancel")

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_operate_permission(request)

    def get_fields(self, request: HttpRequest, obj: Reindex | None = None) -> Any:
        return ("namespace", "profile") if obj is None else SHOWN

    @admin.display(description="comparison")
    def comparison(self, reindex: Reindex) -> SafeString | str:
        report = reindex.parity
        if not report:
            return "not compared yet"
        lines = [f"{report['questions']} questions of {report['by']}"]
        lines += [f"passages in common: {report['overlap_at_10']:.0%} of the first ten"]
        lines += [f"documents in common: {report['documents_overlap_at_10']:.0%}"]
        lines += [f"best similarity: {report['score_shift']:+.3f}"]
        for name, values in report.get("measures", {}).items():
            lines.append(f"{name}: {values['before']:.3f} → {values['after']:.3f}")
        for least in report.get("least_alike", ()):
            lines.append(f"{least['overlap']:.0%} in common: {least['question']}")
        return format_html_join(mark_safe("<br>"), "{}", ((line,) for line in lines))

    @admin.display(description="failures")
    def failed(self, reindex: Reindex) -> SafeString | str:
        rows = reindex.failures.values()
        return format_html_join(
            mark_safe("<br>"),
            '<a href="{}">{}</a>: {} {}',
            (
                (
                    reverse("admin:documents_document_change", args=[row["document_id"]]),
                    row["document_id"],
                    row["code"],
                    row["message"],
                )
                for row in rows
            ),
        )

    def save_model(self, request: HttpRequest, obj: Reindex, form: Any, change: bool) -> None:
        obj.pk = switching.start(obj.namespace_id, obj.profile).pk

    @admin.display(description="progress")
    def bar(self, reindex: Reindex) -> SafeString:
        progress = _progress(reindex)
        bar = '<progress max="{}" value="{}"></progress> {}/{} {}'
        failed = f"({progress.failed} failed)" if progress.failed else ""
        documents, done = progress.documents, progress.done
        return format_html(bar, documents or 1, done, done, documents, failed)

    @admin.display(description="left")
    def left(self, reindex: Reindex) -> str:
        if reindex.error_code:
            return f"{reindex.error_code}: {reindex.error_message}"
        if not reindex.has_work:
            return ""
        seconds = _progress(reindex).seconds_left
        return reindex.stage if not seconds else f"{seconds:.0f} s"

    @admin.display(description="overlap@10")
    def alike(self, reindex: Reindex) -> str:
        if not reindex.parity:
            return ""
        return f"{reindex.parity['overlap_at_10']} of {reindex.parity['questions']} questions"

    @admin.action(description="Compare both profiles", permissions=["operate"])
    def compare(self, request: HttpRequest, queryset: QuerySet[Reindex]) -> None:
        self._each(request, queryset, parity.compare, "compared")

    @admin.action(description="Switch to the new profile", permissions=["operate"])
    def switch(self, request: HttpRequest, queryset: QuerySet[Reindex]) -> None:
        self._each(request, queryset, lambda r: switching.switch(r.namespace_id), "switched")

    @admin.action(description="Roll back to the old profile", permissions=["operate"])
    def roll_back(self, request: HttpRequest, queryset: QuerySet[Reindex]) -> None:
        self._each(request, queryset, lambda r: switching.roll_back(r.namespace_id), "rolled back")

    @admin.action(description="Reclaim: remove the old chunks", permissions=["operate"])
    @confirm_first(
        "Reclaim {rows}?",
        noun="reindex",
        consequence="The chunks of the old profile are deleted. There is no way back to it.",
    )
    def reclaim(self, request: HttpRequest, queryset: QuerySet[Reindex]) -> None:
        self._each(request, queryset, lambda r: switching.reclaim(r.namespace_id), "reclaimed")

    @admin.action(description="Cancel: remove the new chunks", permissions=["operate"])
    @confirm_first(
        "Cancel {rows}?",
        noun="reindex",
        consequence="The chunks built under the new profile are deleted.",
    )
    def cancel(self, request: HttpRequest, queryset: QuerySet[Reindex]) -> None:
        self._each(request, queryset, lambda r: switching.cancel(r.namespace_id), "cancelled")

    def _each(
        self,
        request: HttpRequest,
        queryset: QuerySet[Reindex],
        act: Callable[[Reindex], Any],
        done: str,
    ) -> None:
        for reindex in queryset.select_related("namespace", "profile", "replaces"):
            if reindex.state not in Reindex.OPEN:
                messages.error(request, f"{reindex.namespace}: it has ended ({reindex.state}).")
                continue
            try:
                act(reindex)
            except IngestError as error:
                messages.error(request, f"{reindex.namespace}: {error}")
            else:
                messages.success(request, f"{reindex.namespace}: {done}.")


def _progress(reindex: Reindex) -> switching.ReindexProgress:
    with namespace(reindex.namespace_id):
        return switching.progress(reindex)
