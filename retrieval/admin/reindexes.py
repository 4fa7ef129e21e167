"""Reindexes in the admin: start one, watch it, compare, switch, roll back, reclaim."""

import uuid
from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.safestring import SafeString

from documents.admin.confirmation import confirm_first
from documents.admin.readonly import ReadOnlyAdmin
from documents.errors import IngestError
from documents.models import Reindex
from documents.reindex import switching
from ragsite.web.markup import badge, progress_bar, when
from retrieval.inspection import parity

from . import reindex_page
from .reindex_page import progress_of, time_left


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
    fields = ("namespace", "profile")
    list_display = ("shown_move", "shown_state", "bar", "left", "alike", "started")
    list_filter = ("state", "namespace", "profile")
    list_select_related = ("namespace", "profile", "replaces")
    ordering = ("-created_at",)
    actions = ("compare", "switch", "switch_anyway", "roll_back", "reclaim", "cancel")

    @admin.display(description="reindex")
    def shown_move(self, reindex: Reindex) -> str:
        """Its state has a column of its own."""
        return f"{reindex.namespace}: {reindex.replaces} → {reindex.profile}"

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_operate_permission(request)

    def save_model(self, request: HttpRequest, obj: Reindex, form: Any, change: bool) -> None:
        obj.pk = switching.start(obj.namespace_id, obj.profile).pk

    def response_post_save_add(self, request: HttpRequest, obj: Reindex) -> HttpResponseRedirect:
        return HttpResponseRedirect(reverse("admin:documents_reindex_change", args=[obj.pk]))

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        try:
            pk = uuid.UUID(object_id)
        except ValueError:
            raise Http404 from None
        rows = self.get_queryset(request).select_related("namespace", "profile", "replaces")
        reindex = get_object_or_404(rows, pk=pk)
        may_operate = self.has_operate_permission(request)
        if request.method == "POST":
            return self._act_and_return(request, reindex, may_operate)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "may_operate": may_operate,
            **reindex_page.context_of(reindex),
        }
        return TemplateResponse(request, "admin/reindex/reindex.html", context)

    def _act_and_return(
        self, request: HttpRequest, reindex: Reindex, may_operate: bool
    ) -> HttpResponse:
        """Run a step that can be undone, from the reindex's own page. The others are actions of the
        list and ask for confirmation."""
        steps = {"compare": self.compare, "switch": self.switch, "roll_back": self.roll_back}
        step = steps.get(request.POST.get("action", ""))
        if step is None or not may_operate:
            raise PermissionDenied
        step(request, self.get_queryset(request).filter(pk=reindex.pk))
        return HttpResponseRedirect(request.path)

    @admin.display(description="state", ordering="state")
    def shown_state(self, reindex: Reindex) -> SafeString:
        return badge(reindex.state)

    @admin.display(description="progress")
    def bar(self, reindex: Reindex) -> SafeString | str:
        """Once a reindex has ended, its chunks are deleted or in use by all searches."""
        if reindex.state not in Reindex.OPEN:
            return ""
        progress = progress_of(reindex)
        failed = f" ({progress.failed:,} failed)" if progress.failed else ""
        label = f"{progress.done:,} of {progress.documents:,}{failed}"
        return progress_bar(progress.done, progress.documents, label)

    @admin.display(description="time left")
    def left(self, reindex: Reindex) -> str:
        if reindex.error_code:
            return f"{reindex.error_code}: {reindex.error_message}"
        return time_left(reindex, progress_of(reindex)) if reindex.has_work else ""

    @admin.display(description="comparison")
    def alike(self, reindex: Reindex) -> str:
        if not reindex.parity:
            return ""
        overlap = reindex.parity["overlap_at_10"]
        shown = "–" if overlap is None else f"{overlap:.0%} alike"
        return f"{shown}, of {reindex.parity['questions']} questions"

    @admin.display(description="started", ordering="created_at")
    def started(self, reindex: Reindex) -> SafeString:
        return when(reindex.created_at)

    @admin.action(description="Compare both profiles", permissions=["operate"])
    def compare(self, request: HttpRequest, queryset: QuerySet[Reindex]) -> None:
        self._each(request, queryset, parity.compare, "compared")

    @admin.action(description="Switch to the new profile", permissions=["operate"])
    def switch(self, request: HttpRequest, queryset: QuerySet[Reindex]) -> None:
        self._each(request, queryset, lambda r: switching.switch(r.namespace_id), "switched")

    @admin.action(description="Switch although documents failed", permissions=["operate"])
    @confirm_first(
        "Switch {rows} although documents failed?",
        noun="reindex",
        consequence="Documents that could not be indexed under the new profile are no longer "
        "found. A rollback brings them back.",
    )
    def switch_anyway(self, request: HttpRequest, queryset: QuerySet[Reindex]) -> None:
        def switch(reindex: Reindex) -> None:
            switching.switch(reindex.namespace_id, accept_failures=True)

        self._each(request, queryset, switch, "switched")

    @admin.action(description="Roll back to the old profile", permissions=["operate"])
    def roll_back(self, request: HttpRequest, queryset: QuerySet[Reindex]) -> None:
        self._each(request, queryset, lambda r: switching.roll_back(r.namespace_id), "rolled back")

    @admin.action(description="Reclaim: remove the old chunks", permissions=["operate"])
    @confirm_first(
        "Reclaim {rows}?",
        noun="reindex",
        consequence="The chunks of the old profile are deleted. This cannot be undone.",
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
