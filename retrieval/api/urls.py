from django.urls import path

from . import bulk_delete, query, reindex

urlpatterns = [
    path("query", query.QueryView.as_view(), name="query"),
    path("documents/delete", bulk_delete.BulkDeleteView.as_view(), name="documents-delete"),
    path("reindex", reindex.ReindexView.as_view(), name="reindex"),
]
