"""Index profiles: they can be created, and never changed."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.http import HttpRequest

from documents.errors import IngestError
from documents.models import IndexProfile, StoreChange
from documents.models.indexing import PGVECTOR
from documents.profiles import profiles
from documents.stores import registry
from ragsite.platform.wording import plural

from .audited import Audited

STORE_HELP = "Where searches find chunks: pgvector is this database."


_METHOD_NAMES = {"hnsw": "HNSW", "bit": "HNSW over bits", "ivfflat": "IVFFlat", "scann": "ScaNN"}


def method_name(ann_method: str) -> str:
    return _METHOD_NAMES.get(ann_method, ann_method)


class IndexProfileForm(forms.ModelForm):
    embedder = forms.ChoiceField(choices=lambda: [(alias, alias) for alias in settings.EMBEDDERS])
    store = forms.ChoiceField(
        choices=lambda: [(name, name) for name in registry.names()],
        initial=PGVECTOR,
        required=False,
        help_text=STORE_HELP,
    )
    chunk_size = forms.IntegerField(initial=220)
    chunk_overlap = forms.IntegerField(initial=33)
    contextual_header = forms.BooleanField(
        initial=True,
        required=False,
        help_text="Embed title and section path above each chunk. Its content stays verbatim.",
    )

    class Meta:
        model = IndexProfile
        fields = (
            "name",
            "namespace",
            "chunker",
            "chunker_options",
            "chunk_size",
            "chunk_overlap",
            "contextual_header",
            "embedder",
            "ann_method",
            "ann_options",
            "store",
            "store_options",
        )

    def clean_store(self) -> str:
        return self.cleaned_data["store"] or PGVECTOR

    def clean_store_options(self) -> dict[str, Any]:
        return self.cleaned_data["store_options"] or {}

    def clean(self) -> dict[str, Any]:
        fields = super().clean() or {}
        if self.errors:
            return fields
        try:
            embedder = profiles.load_embedder(fields["embedder"])
            self.instance.dimensions = embedder.dimensions
            wanted = IndexProfile(**fields, dimensions=embedder.dimensions)
            profiles.require_free_name(wanted)
            wanted.clean()  # before checking whether it works on this server
            profiles.require_fitting(wanted, embedder)
        except IngestError as error:
            self.add_error(None, str(error))
        return fields


@admin.register(IndexProfile)
class IndexProfileAdmin(Audited, admin.ModelAdmin):
    form = IndexProfileForm
    list_select_related = ("namespace",)
    list_display = (
        "name",
        "namespace",
        "embedder",
        "dimensions",
        "chunk_size",
        "chunk_overlap",
        "shown_method",
        "store",
        "not_synced",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[IndexProfile]:
        waiting = StoreChange.objects.filter(profile=OuterRef("pk")).order_by().values("profile")
        counted = Subquery(waiting.annotate(count=Count("pk")).values("count"))
        return super().get_queryset(request).annotate(waiting=counted)

    @admin.display(description="ANN method", ordering="ann_method")
    def shown_method(self, profile: IndexProfile) -> str:
        return method_name(profile.ann_method)

    @admin.display(description="Not synced yet", empty_value="")
    def not_synced(self, profile: IndexProfile) -> str | None:
        """Count documents that the profile's store does not have yet."""
        waiting: int = getattr(profile, "waiting", None) or 0
        return plural(waiting, "document") if profile.is_stored_outside else None

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # existing chunks would no longer match

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # `manage.py profile drop` also removes its index
