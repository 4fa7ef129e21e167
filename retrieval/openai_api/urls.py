from django.urls import path

from . import embeddings, files, models
from .chat.views import ChatCompletionsView
from .responses.views import ResponsesView
from .vector_stores import urls as vector_stores

urlpatterns = [
    path("models", models.ModelListView.as_view(), name="openai-models"),
    path("models/<str:model>", models.ModelView.as_view(), name="openai-model"),
    path("chat/completions", ChatCompletionsView.as_view(), name="openai-chat-completions"),
    path("responses", ResponsesView.as_view(), name="openai-responses"),
    path("embeddings", embeddings.EmbeddingsView.as_view(), name="openai-embeddings"),
    path("files", files.FileListView.as_view(), name="openai-files"),
    path("files/<str:file_id>", files.FileView.as_view(), name="openai-file"),
    path("files/<str:file_id>/content", files.FileContentView.as_view(), name="openai-content"),
    *vector_stores.urlpatterns,
]
