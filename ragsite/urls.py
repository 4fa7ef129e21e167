"""Every URL of the service."""

from django.contrib import admin
from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerView

from documents.pages.passage import passage_page
from evaluation.pages.feedback import ask_feedback
from retrieval.pages.ask import ask_answer, ask_page

from .service import health

urlpatterns = [
    path("", ask_page, name="home"),
    path("ask/answer", ask_answer, name="ask-answer"),
    path("ask/feedback", ask_feedback, name="ask-feedback"),
    path("admin/", admin.site.urls),
    path("api/v1/", include("documents.api.urls")),
    path("api/v1/", include("retrieval.api.urls")),
    path("api/v1/", include("evaluation.api.urls")),
    path("api/rag/", include("retrieval.api.rag_urls")),
    path("v1/", include("retrieval.openai_api.urls")),
    path("d/<str:token>", passage_page, name="passage"),
    path("api/schema", SpectacularAPIView.as_view(), name="schema"),
    path("api/docs", SpectacularSwaggerView.as_view(url_name="schema"), name="docs"),
    path("livez", health.livez, name="livez"),
    path("readyz", health.readyz, name="readyz"),
]

handler400 = "ragsite.web.error_pages.bad_request"
handler403 = "ragsite.web.error_pages.forbidden"
handler404 = "ragsite.web.error_pages.not_found"
handler500 = "ragsite.web.error_pages.server_error"
