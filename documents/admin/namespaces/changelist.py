"""The list of namespaces, and the page of each: its contents, then its settings."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin
from django.db.models import Field, ForeignKey, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from documents.admin.audited import Audited
from documents.models import IndexProfile, Namespace
from documents.models.indexing import DEFAULT_PROFILE_ID
from ragsite.platform.wording import file_size
from ragsite.web.markup import toned_badge, when

from . import hub
from .deletion import NamespaceDeletion

ANSWERS = ("answer_model", "answer_prompt", "answer_language", "answer_min_relevance")
STATE = ("profile_link", "revision", "created", "deleting_since")
PROFILE_HELP = "How its documents are cut and embedded. Later it can be changed by a reindex."


@admin.register(Namespace)
class NamespaceAdmin(NamespaceDeletion, Audited, admin.ModelAdmin):
    list_display = ("slug", "name", "documents", "chunks", "stored", "active_profile", "state")
    list_select_related = ("active_profile", "usage")
    fieldsets = (
        (None, {"fields": ("slug", "name", "language")}),
        ("Answers", {"fields": ANSWERS}),
        ("Quotas", {"fields": ("max_documents", "max_bytes", "max_chunks")}),
        ("State", {"fields": STATE}),
    )
    add_fieldsets = (
        (None, {"fields": ("slug", "name", "language", "active_profile")}),
        *fieldsets[1:3],
    )
    search_fields = ("slug", "name")
    search_help_text = "Slug or name"
    readonly_fields = STATE
    change_form_template = "admin/namespaces/namespace.html"

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """A new namespace has no state yet, but its profile can be chosen."""
        return self.add_fieldsets if obj is None else self.fieldsets

    def formfield_for_dbfield(self, db_field: Field, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "answer_model":
            names = sorted(settings.LANGUAGE_MODELS)
            choices = [("", "(the installation's default)"), *((name, name) for name in names)]
            return forms.ChoiceField(choices=choices, required=False, help_text=db_field.help_text)
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def formfield_for_foreignkey(
        self, db_field: ForeignKey, request: HttpRequest, **kwargs: Any
    ) -> Any:
        if db_field.name == "active_profile":  # profiles that all namespaces may use
            kwargs["queryset"] = IndexProfile.objects.filter(namespace=None)
            kwargs |= {"help_text": PROFILE_HELP, "empty_label": None, "required": False}
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Any = None,
    ) -> HttpResponse:
        if obj is not None:
            context["panels"] = hub.panels_of(obj)
        return super().render_change_form(request, context, add, change, form_url, obj)

    def save_model(self, request: HttpRequest, obj: Namespace, form: Any, change: bool) -> None:
        if obj.active_profile_id is None:
            obj.active_profile_id = DEFAULT_PROFILE_ID
        super().save_model(request, obj, form, change)

    def response_post_save_add(self, request: HttpRequest, obj: Namespace) -> HttpResponseRedirect:
        """Continue with the namespace's page, where a key can be created."""
        return HttpResponseRedirect(reverse("admin:documents_namespace_change", args=[obj.pk]))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Namespace]:
        return super().get_queryset(request).select_related("active_profile")

    @admin.display(description="documents", ordering="usage__documents")
    def documents(self, namespace: Namespace) -> str:
        return f"{_usage(namespace, 'documents'):,}"

    @admin.display(description="stored", ordering="usage__bytes")
    def stored(self, namespace: Namespace) -> str:
        return file_size(_usage(namespace, "bytes"))

    @admin.display(description="chunks", ordering="chunk_count")
    def chunks(self, namespace: Namespace) -> str:
        return f"{namespace.chunk_count:,}"

    @admin.display(description="state")
    def state(self, namespace: Namespace) -> SafeString:
        if namespace.deleting_since is not None:
            return toned_badge("quiet", "being deleted")
        return toned_badge("good", "open")

    @admin.display(description="index profile")
    def profile_link(self, namespace: Namespace) -> SafeString:
        profile = namespace.active_profile
        page = reverse("admin:documents_indexprofile_change", args=[profile.pk])
        return format_html('<a href="{}">{}</a>', page, profile.name)

    @admin.display(description="created")
    def created(self, namespace: Namespace) -> SafeString:
        return when(namespace.created_at)


def _usage(namespace: Namespace, name: str) -> int:
    """Return 0 for a namespace that never had documents."""
    usage = getattr(namespace, "usage", None)
    return int(getattr(usage, name)) if usage else 0
