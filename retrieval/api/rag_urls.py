from django.urls import path

from . import rag

urlpatterns = [
    path("index", rag.RagIndexView.as_view(), name="rag-index"),
    path("search", rag.RagSearchView.as_view(), name="rag-search"),
]
