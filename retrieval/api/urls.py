from django.urls import path

from . import query, reindex

urlpatterns = [
    path("query", query.QueryView.as_view(), name="query"),
    path("reindex", reindex.ReindexView.as_view(), name="reindex"),
]
