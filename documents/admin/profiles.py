from django.contrib import admin

from documents.models import IndexProfile

from .readonly import LookOnlyAdmin


@admin.register(IndexProfile)
class IndexProfileAdmin(LookOnlyAdmin):
    list_display = ("name", "embedder", "dimensions", "chunk_size", "chunk_overlap", "ann_method")
