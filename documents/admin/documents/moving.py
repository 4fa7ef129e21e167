"""The page that asks where to move a document, and explains what moves with it."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html

from documents.errors import IngestError
from documents.ingestion import moving
from documents.models import CollectionDocument, Document, Fact, Namespace

from ..readonly import ReadOnlyAdmin
from ..visible import only_visible


class MoveForm(forms.Form):
    to = forms.ModelChoiceField(
        Namespace.objects.none(), label="To namespace", empty_label="Choose …"
    )
    is_sure = forms.BooleanField(label="I have read what will happen, and want to move it.")

    def __init__(self, *args: Any, namespaces: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["to"]
        assert isinstance(field, forms.ModelChoiceField)  # noqa: S101
        field.queryset = namespaces


class MovePage(ReadOnlyAdmin):
    """A part of the documents' ModelAdmin."""

    def move_view(self, request: HttpRequest, document: Document) -> HttpResponseBase:
        if not self.has_operate_permission(request):
            raise PermissionDenied
        namespaces = only_visible(request, Namespace.objects.filter(deleting_since=None), "pk")
        others = namespaces.exclude(pk=document.namespace_id)
        form = MoveForm(request.POST or None, namespaces=others)
        if form.is_valid() and (done := self._moved(request, document, form.cleaned_data["to"])):
            return done
        facts = Fact.objects.filter(namespace=document.namespace_id, document=document)
        context = {
            **self.admin_site.each_context(request),
            "title": f"Move “{str(document)[:120]}”",
            "opts": self.opts,
            "document": document,
            "form": form,
            "has_choice": others.exists(),
            "stated_facts": facts.filter(source=Fact.Source.STATED)[:1001].count(),
            "collections": CollectionDocument.objects.filter(document=document)[:1001].count(),
            "is_busy": bool(document.open_jobs),  # type: ignore[attr-defined]
        }
        return TemplateResponse(request, "admin/documents/move.html", context)

    def _moved(
        self, request: HttpRequest, document: Document, to: Namespace
    ) -> HttpResponseRedirect | None:
        """Return None, with a message, if the document could not be moved."""
        try:
            receipt = moving.move(document.namespace_id, document.pk, to=to.pk)
        except Document.DoesNotExist:
            messages.error(request, "It has been deleted in the meantime.")
            return HttpResponseRedirect(reverse("admin:documents_document_changelist"))
        except IngestError as error:
            messages.error(request, str(error))
            return None
        left = len(receipt.removed.files_left)
        messages.success(
            request,
            format_html(
                "Moved to {}, where it is being indexed. Removed here: {} versions, {} chunks, "
                "{} facts, {} files.{}",
                to.slug,
                receipt.removed.versions,
                receipt.removed.chunks,
                receipt.removed.facts,
                receipt.removed.files,
                f" Files that could not be removed: {left}." if left else "",
            ),
        )
        address = reverse("admin:documents_document_change", args=[receipt.document_id])
        return HttpResponseRedirect(address)
