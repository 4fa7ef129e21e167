"""What addresses and hidden fields of the admin's own pages say, read without trusting it."""

import uuid
from typing import Any

from django.contrib.admin.options import IncorrectLookupParameters
from django.db import DataError
from django.http import Http404, HttpRequest


class RejectsInvalidFilters:
    """Mixed into a ModelAdmin: a filter that the database cannot even compare with (the year 0, a
    NUL) is a wrong filter, as Django treats others: the list is shown with a warning."""

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        try:
            return super().get_changelist_instance(request)  # type: ignore[misc]
        except (ValueError, OverflowError, DataError) as error:
            raise IncorrectLookupParameters from error


def uuid_or_404(value: str) -> uuid.UUID:
    """404 for what is no id, as for an id that nobody has."""
    try:
        return uuid.UUID(value)
    except ValueError:
        raise Http404 from None
