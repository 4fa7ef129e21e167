"""The starter set: 60 queries over the sample documents, curated by hand.

Kinds (as tags): question, keywords, identifier, paraphrase (hardly a word in common with the
answer), multi-part (answers in two places). Judgements are on sentences and table rows. May import
evaluation.golden.
"""

import uuid
from pathlib import Path

from evaluation.golden.curating import by_source
from evaluation.golden.formats import read_jsonl
from evaluation.golden.importing import ImportReport, import_questions
from ragsite.database.tenancy import namespace

NAME = "starter"
PATH = Path(__file__).parent / "harbour-lights.jsonl"
DESCRIPTION = "60 curated queries over the sample documents of a fictional lamp maker."


def load(namespace_id: uuid.UUID) -> ImportReport | None:
    """None where the sample documents are not, or no longer, all searchable."""
    questions = read_jsonl(PATH.read_text().splitlines())
    sources = {answer.source_uri for question in questions for answer in question.answers}
    with namespace(namespace_id):
        documents = dict(by_source(namespace_id, sources))
    if len(documents) < len(sources) or any(d.live_version is None for d in documents.values()):
        return None
    return import_questions(namespace_id, NAME, questions, description=DESCRIPTION)
