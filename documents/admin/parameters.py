"""Untrusted values from URLs and hidden fields of the admin."""

import uuid
from typing import Any

from django.contrib.admin.options import IncorrectLookupParameters
from django.db import DataError
from django.http import Http404, HttpRequest


class RejectsInvalidFilters:
    """Mixed into a ModelAdmin: a filter value that the database cannot compare with (the year 0, a
    NUL) is treated like Django's other invalid filters: the list is shown with a warning."""

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        try:
            return super().get_changelist_instance(request)  # type: ignore[misc]
        except (ValueError, OverflowError, DataError) as error:
            raise IncorrectLookupParameters from error


def uuid_or_404(value: str) -> uuid.UUID:
    """Raises Http404 if the value is not a UUID."""
    try:
        return uuid.UUID(value)
    except ValueError:
        raise Http404 from None
