"""Uploading in the admin: a form for the same intake as in the API."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse

from documents.errors import IngestError
from documents.intake import intake
from documents.intake.archives import expanded
from documents.intake.batches import OnePerSource
from documents.intake.submissions import Submission
from documents.models import Namespace
from ragsite.platform.wording import plural

from ..readonly import ReadOnlyAdmin
from ..visible import only_visible
from . import actions

ERRORS_SHOWN = 10


class SeveralFiles(forms.ClearableFileInput):
    allow_multiple_selected = True


class FileListField(forms.FileField):
    """One or more files, as a list."""

    widget = SeveralFiles

    def clean(self, data: Any, initial: Any = None) -> list[UploadedFile]:
        # Empty files are refused by the intake, which reports each file separately.
        files = data if isinstance(data, list | tuple) else [data]
        if not any(files):
            raise forms.ValidationError("Choose at least one file.")
        return [file for file in files if file is not None]


class UploadForm(forms.Form):
    namespace = forms.ModelChoiceField(Namespace.objects.none(), empty_label="Choose …")
    uploads = FileListField(
        label="Files", help_text="One or more files; zip archives are unpacked."
    )
    tags = forms.CharField(required=False, help_text="Tags for all files, separated by commas.")
    collection = forms.CharField(
        required=False,
        max_length=256,
        help_text="They are added to it by this name; it is made if there is none.",
    )

    def __init__(self, *args: Any, namespaces: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["namespace"]
        assert isinstance(field, forms.ModelChoiceField)  # noqa: S101
        field.queryset = namespaces

    def clean_tags(self) -> tuple[str, ...]:
        try:
            return actions.read_tags(self.cleaned_data["tags"])
        except actions.InvalidTags as error:
            raise forms.ValidationError(str(error)) from None


class UploadPage(ReadOnlyAdmin):
    """A part of the documents' ModelAdmin."""

    def upload_view(self, request: HttpRequest) -> HttpResponseBase:
        if not self.has_operate_permission(request):
            raise PermissionDenied
        namespaces = only_visible(request, Namespace.objects.filter(deleting_since=None), "pk")
        initial = {"namespace": namespaces.first()} if namespaces.count() == 1 else {}
        form = UploadForm(
            request.POST or None,
            request.FILES or None,
            namespaces=namespaces,
            initial={**initial, **{k: v for k, v in request.GET.items() if k == "namespace"}},
        )
        if form.is_valid():
            _take(request, form.cleaned_data)
            listed = reverse("admin:documents_document_changelist")
            chosen = form.cleaned_data["namespace"].pk
            return HttpResponseRedirect(f"{listed}?namespace__id__exact={chosen}")
        context = {
            **self.admin_site.each_context(request),
            "title": "Upload documents",
            "opts": self.opts,
            "form": form,
            "has_namespaces": namespaces.exists(),
        }
        return TemplateResponse(request, "admin/documents/upload.html", context)


def _take(request: HttpRequest, fields: dict[str, Any]) -> None:
    """Accept each file separately, and report the results to the operator."""
    batch = OnePerSource()
    taken = known = 0
    refused: list[str] = []
    for file in fields["uploads"]:
        uploaded = Submission(
            content=file,
            file_name=file.name or "",
            media_type=file.content_type or "",
            tags=list(fields["tags"]) or None,
            collection=fields["collection"],
        )
        for submission, error in expanded(uploaded):
            try:
                if error is not None:
                    raise error
                batch.check(submission)
                receipt = intake.accept(fields["namespace"].pk, submission)
            except IngestError as refusal:
                refused.append(f"{submission.file_name}: {refusal}")
            else:
                taken, known = taken + (not receipt.duplicate), known + receipt.duplicate
    if taken:
        messages.success(request, f"{plural(taken, 'document')} queued for indexing.")
    if known:
        messages.info(request, f"{plural(known, 'document')} known already, and left as before.")
    for sentence in refused[:ERRORS_SHOWN]:
        messages.error(request, sentence)
    if len(refused) > ERRORS_SHOWN:
        messages.error(request, f"{plural(len(refused) - ERRORS_SHOWN, 'more file')} refused.")
