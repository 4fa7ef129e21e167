from django.urls import path

from . import answer, answer_settings, bulk_delete, query, reindex, tools

urlpatterns = [
    path(
        "answer/settings",
        answer_settings.AnswerSettingsView.as_view(),
        name="answer-settings",
    ),
    path("query", query.QueryView.as_view(), name="query"),
    path("answer", answer.AnswerView.as_view(), name="answer"),
    path("answer/prompt", answer.PromptView.as_view(), name="answer-prompt"),
    path("documents/delete", bulk_delete.BulkDeleteView.as_view(), name="documents-delete"),
    path("tools", tools.ToolListView.as_view(), name="tools"),
    path("tools/<str:name>", tools.ToolView.as_view(), name="tool"),
    path("reindex", reindex.ReindexView.as_view(), name="reindex"),
]
