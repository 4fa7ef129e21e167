"""Every URL of the service."""

from django.contrib import admin
from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerView

from documents.pages.library import adding, changing, listing, progress
from documents.pages.passage import passage_page
from documents.pages.pictures import original, page_picture, passage_marks
from documents.pages.signing_in import SignInView, SignOutView
from evaluation.pages.feedback import ask_feedback
from retrieval.pages.ask import ask_answer, ask_page
from retrieval.pages.shared import shared_answer, shared_ask

from .service import health, metrics_page

urlpatterns = [
    path("", ask_page, name="home"),
    path("ask/answer", ask_answer, name="ask-answer"),
    path("ask/feedback", ask_feedback, name="ask-feedback"),
    path("library", listing.library_page, name="library"),
    path("library/upload", adding.upload, name="library-upload"),
    path("library/url", adding.add_url, name="library-url"),
    path("library/progress", progress.progress, name="library-progress"),
    path("library/documents/<uuid:pk>/retry", changing.retry, name="library-retry"),
    path("library/documents/<uuid:pk>/change", changing.change, name="library-change"),
    path("library/documents/<uuid:pk>/delete", changing.delete, name="library-delete"),
    path("sign-in", SignInView.as_view(), name="sign-in"),
    path("sign-out", SignOutView.as_view(), name="sign-out"),
    path("s/<str:key>", shared_ask, name="shared-ask"),
    path("s/<str:key>/answer", shared_answer, name="shared-answer"),
    path("s/<str:key>/d/<str:token>", passage_page, name="shared-passage"),
    path("s/<str:key>/d/<str:token>/picture", page_picture, name="shared-picture"),
    path("s/<str:key>/d/<str:token>/marks", passage_marks, name="shared-marks"),
    path("admin/", admin.site.urls),
    path("api/v1/", include("documents.api.urls")),
    path("api/v1/", include("retrieval.api.urls")),
    path("api/v1/", include("evaluation.api.urls")),
    path("api/rag/", include("retrieval.api.rag_urls")),
    path("v1/", include("retrieval.openai_api.urls")),
    path("d/<str:token>", passage_page, name="passage"),
    path("d/<str:token>/picture", page_picture, name="passage-picture"),
    path("d/<str:token>/marks", passage_marks, name="passage-marks"),
    path("d/<str:token>/original", original, name="passage-original"),
    path("api/schema", SpectacularAPIView.as_view(), name="schema"),
    path("api/docs", SpectacularSwaggerView.as_view(url_name="schema"), name="docs"),
    path("livez", health.livez, name="livez"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", metrics_page.metrics_page, name="metrics"),
]

handler400 = "ragsite.web.error_pages.bad_request"
handler403 = "ragsite.web.error_pages.forbidden"
handler404 = "ragsite.web.error_pages.not_found"
handler500 = "ragsite.web.error_pages.server_error"
