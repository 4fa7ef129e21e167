from django.urls import path

from . import bulk_delete, memories, query, reindex, tools
from .answers import settings, views
from .memory.urls import urlpatterns as memory_urls

urlpatterns = [
    path(
        "answer/settings",
        settings.AnswerSettingsView.as_view(),
        name="answer-settings",
    ),
    path("query", query.QueryView.as_view(), name="query"),
    path("answer", views.AnswerView.as_view(), name="answer"),
    path("answer/prompt", views.PromptView.as_view(), name="answer-prompt"),
    path("documents/delete", bulk_delete.BulkDeleteView.as_view(), name="documents-delete"),
    path("memories/search", memories.MemorySearchView.as_view(), name="memories-search"),
    path("tools", tools.ToolListView.as_view(), name="tools"),
    path("tools/<str:name>", tools.ToolView.as_view(), name="tool"),
    path("reindex", reindex.NamespaceReindexView.as_view(), name="reindex"),
    *memory_urls,
]
