"""POST /ask/feedback: thumbs up or down, and a comment, on an answer of the ask page."""

from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest, HttpResponseBase, JsonResponse

from documents.pages.people import find_namespace, json_view
from evaluation.api.errors import enveloped
from evaluation.api.feedback import FeedbackFormSerializer
from evaluation.golden.feedback import record_feedback


@json_view
def ask_feedback(
    request: HttpRequest, user: AbstractBaseUser, data: dict[str, Any]
) -> HttpResponseBase:
    namespace_id = find_namespace(user, data.pop("namespace", None)).pk
    form = FeedbackFormSerializer(data=data)
    form.is_valid(raise_exception=True)
    with enveloped():
        feedback = record_feedback(namespace_id, **form.validated_data)
    return JsonResponse({"id": str(feedback.pk)}, status=201)
