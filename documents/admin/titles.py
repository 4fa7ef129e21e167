"""Titles that say where you are: `Documents`, `Document`, never "Select … to change"."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.text import capfirst


class Titled:
    """Mixed into a ModelAdmin. A change form's subtitle is the row itself."""

    opts: Any

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        title = capfirst(self.opts.verbose_name_plural)
        context = {"title": title, **(extra_context or {})}
        return super().changelist_view(request, context)  # type: ignore[misc]

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: Any = None,
    ) -> HttpResponse:
        context = {"title": capfirst(self.opts.verbose_name), **(extra_context or {})}
        return super().change_view(request, object_id, form_url, context)  # type: ignore[misc]
