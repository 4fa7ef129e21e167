"""Compare the citations of an answer with the text stored in the database."""

import re
import uuid
from collections.abc import Iterable

from documents.models import DocumentVersion
from ragsite.database.tenancy import namespace
from retrieval.answering.requests import AnswerResult, Citation

MARKER = re.compile(r"\[cite:([^\]]*)\]")


def unequal_citations(namespace_id: uuid.UUID, citations: Iterable[Citation]) -> list[Citation]:
    """Return the citations that differ from the stored text of their document's version."""
    citations = list(citations)
    documents = {citation.evidence.hit.candidate.document_id for citation in citations}
    with namespace(namespace_id):
        rows = DocumentVersion.objects.filter(document_id__in=documents)
        texts = {
            (document, number): text
            for document, number, text in rows.values_list("document_id", "number", "text")
        }

    def stored(citation: Citation) -> str | None:
        hit = citation.evidence.hit
        text = texts.get((hit.candidate.document_id, hit.document_version))
        return None if text is None else text[citation.start : citation.end]

    return [c for c in citations if not c.cited_text or stored(c) != c.cited_text]


def unknown_markers(result: AnswerResult) -> list[str]:
    """Return ids in the answer's text that belong to none of its sources or citations."""
    known = {item.id for item in result.evidence} & {citation.id for citation in result.citations}
    return [ident for ident in MARKER.findall(result.text) if ident not in known]
