"""POST /library/documents/{id}/…: retry, retag, rename and delete documents."""

import uuid
from dataclasses import asdict
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest, HttpResponseBase, JsonResponse
from rest_framework.exceptions import NotFound

from documents.accounts import audit
from documents.api.ingest.results import result_of
from documents.api.serializers import DocumentChangeSerializer, RemovalSerializer
from documents.ingestion import removal
from documents.ingestion.editing import amend
from documents.intake import intake
from documents.models import Document
from documents.pages.people import find_namespace, json_view
from ragsite.database.tenancy import namespace

CHANGEABLE = ("title", "tags")


@json_view
def retry(
    request: HttpRequest, user: AbstractBaseUser, data: dict[str, Any], pk: uuid.UUID
) -> HttpResponseBase:
    namespace_id = find_namespace(user, data.get("namespace")).pk
    try:
        with namespace(namespace_id):
            receipt = intake.resubmit(namespace_id, pk)
            audit.record("document.reindex", target=audit.Target("document", str(pk)))
    except Document.DoesNotExist:
        raise NotFound from None
    return JsonResponse(result_of(0, receipt), status=202)


@json_view
def change(
    request: HttpRequest, user: AbstractBaseUser, data: dict[str, Any], pk: uuid.UUID
) -> HttpResponseBase:
    namespace_id = find_namespace(user, data.get("namespace")).pk
    form = DocumentChangeSerializer(data={n: data[n] for n in CHANGEABLE if n in data})
    form.is_valid(raise_exception=True)
    changes = dict(form.validated_data)
    if "tags" in changes:
        changes["tags"] = list(dict.fromkeys(changes["tags"]))
    try:
        document = amend(namespace_id, pk, changes)
    except Document.DoesNotExist:
        raise NotFound from None
    return JsonResponse({"title": str(document), "tags": document.tags})


@json_view
def delete(
    request: HttpRequest, user: AbstractBaseUser, data: dict[str, Any], pk: uuid.UUID
) -> HttpResponseBase:
    namespace_id = find_namespace(user, data.get("namespace")).pk
    try:
        receipt = removal.remove(namespace_id, pk)
    except Document.DoesNotExist:
        raise NotFound from None
    return JsonResponse(RemovalSerializer(asdict(receipt)).data)
