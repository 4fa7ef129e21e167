"""What tests of tools share."""

from typing import Any

import pytest

from documents.models import Document, Namespace
from ragsite.database.tenancy import namespace
from ragsite.platform.errors import ApiError
from retrieval.tools.base import ToolContext
from retrieval.tools.calling import call_tool


def refusal(context: ToolContext, name: str, arguments: Any) -> ApiError:
    with pytest.raises(ApiError) as caught:
        call_tool(context, name, arguments)
    return caught.value


def ids_of(tenant: Namespace) -> dict[str, str]:
    with namespace(tenant.pk):
        return {document.title: str(document.pk) for document in Document.objects.all()}
