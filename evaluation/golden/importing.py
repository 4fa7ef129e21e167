"""Import golden sets and test collections from files into a namespace."""

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from django.core.files.base import ContentFile
from django.db.models import Q

from documents.accounts import audit
from documents.errors import IngestError
from documents.intake import intake
from documents.jobs.drain import run_until_done
from documents.metadata import text as storable_text
from documents.models import Document, DocumentVersion
from evaluation.errors import BadGoldenSet
from evaluation.measures.quotes import place_of
from evaluation.models import GoldenQuery, GoldenSet, Judgement
from evaluation.models.golden import HIGHEST_GRADE, MAX_PART
from ragsite.database.tenancy import namespace

from .curating import by_source, check_query, live_text
from .formats import Article, GoldenAnswer, GoldenQuestion

MAX_ERRORS_LISTED = 20  # further errors are not listed
BATCH = 500


@dataclass
class ImportReport:
    golden_set: GoldenSet
    queries: int = 0
    judgements: int = 0
    missing: int = 0  # judgements on documents that do not exist
    refused: list[str] = field(default_factory=list)


@dataclass
class CorpusReport:
    taken: int = 0
    skipped: list[str] = field(default_factory=list)  # with neither title nor text
    indexed: int = 0
    failed: list[str] = field(default_factory=list)


def import_questions(
    namespace_id: uuid.UUID,
    name: str,
    questions: Sequence[GoldenQuestion],
    *,
    description: str = "",
    prefix: str = "",
) -> ImportReport:
    """Import into the set of this name. Existing queries with the same id or text are replaced.

    With a prefix, judgements refer to documents named `prefix + source`, if any such document
    exists. Judgements on missing documents are kept, and count as not found.
    """
    if not questions:
        raise BadGoldenSet("It contains no judged query.")
    with namespace(namespace_id):
        golden_set, _ = GoldenSet.objects.get_or_create(
            namespace_id=namespace_id, name=name, defaults={"description": description}
        )
        report = ImportReport(golden_set)
        known, prefix = _documents(namespace_id, questions, prefix)
        known |= _by_file_name(namespace_id, questions, known, prefix)
        _delete_existing(golden_set, questions)
        texts: dict[uuid.UUID, str] = {}
        for start in range(0, len(questions), BATCH):
            _write(report, questions[start : start + BATCH], known, prefix, texts)
        audit.record("goldenset.import", target=golden_set, count=len(questions))
    return report


def _documents(
    namespace_id: uuid.UUID, questions: Iterable[GoldenQuestion], prefix: str
) -> tuple[dict[str, Document], str]:
    """Return the judged documents that exist, and the prefix if their names have it."""
    sources = {answer.source_uri for question in questions for answer in question.answers}
    prefixed = dict(by_source(namespace_id, {prefix + source for source in sources}))
    if prefixed:
        return prefixed, prefix
    return dict(by_source(namespace_id, sources)) if prefix else {}, ""


def _by_file_name(
    namespace_id: uuid.UUID,
    questions: Iterable[GoldenQuestion],
    known: Mapping[str, Document],
    prefix: str,
) -> dict[str, Document]:
    """Find documents that questions name by file name, if exactly one file has that name."""
    names = {
        answer.source_uri
        for question in questions
        for answer in question.answers
        if answer.by_name and prefix + answer.source_uri not in known
    }
    live = DocumentVersion.objects.filter(
        namespace_id=namespace_id, state=DocumentVersion.State.LIVE, file_name__in=names
    )
    found: dict[str, list[Document]] = {}
    for version in live.select_related("document").defer("text", "outline") if names else ():
        found.setdefault(version.file_name, []).append(version.document)
    if doubled := sorted(name for name, documents in found.items() if len(documents) > 1):
        count = len(found[doubled[0]])
        raise BadGoldenSet(f"{count} documents are called {doubled[0]!r}: write the source_uri.")
    return {prefix + name: documents[0] for name, documents in found.items()}


def _delete_existing(golden_set: GoldenSet, questions: Sequence[GoldenQuestion]) -> None:
    for start in range(0, len(questions), BATCH):
        some = questions[start : start + BATCH]
        names = [question.external_id for question in some if question.external_id]
        same = Q(text__in=[question.text for question in some]) | Q(external_id__in=names)
        GoldenQuery.objects.filter(same, golden_set=golden_set).delete()


def _write(
    report: ImportReport,
    questions: Sequence[GoldenQuestion],
    known: dict[str, Document],
    prefix: str,
    texts: dict[uuid.UUID, str],
) -> None:
    queries, judgements = [], []
    seen: set[str] = set()
    for question in questions:
        if question.text in seen:
            _refuse(report, f"{question.text[:80]!r} appears twice.")
            continue
        seen.add(question.text)
        check_query(question.text, question.filters)
        query = GoldenQuery(
            namespace_id=report.golden_set.namespace_id,
            golden_set=report.golden_set,
            external_id=question.external_id,
            text=question.text,
            filters=question.filters,
            tags=question.tags,
            notes=question.notes,
        )
        queries.append(query)
        places = set()
        for answer in question.answers:
            judgement = _judgement(report, query, answer, known, prefix, texts)
            place = judgement and (judgement.source_uri, judgement.start, judgement.end)
            if judgement and place not in places:
                places.add(place)
                judgements.append(judgement)
    GoldenQuery.objects.bulk_create(queries)
    Judgement.objects.bulk_create(judgements, batch_size=BATCH)
    report.queries += len(queries)
    report.judgements += len(judgements)


def _judgement(
    report: ImportReport,
    query: GoldenQuery,
    answer: GoldenAnswer,
    known: dict[str, Document],
    prefix: str,
    texts: dict[uuid.UUID, str],
) -> Judgement | None:
    if answer.grade > HIGHEST_GRADE:
        raise BadGoldenSet(f"A grade is at most {HIGHEST_GRADE}, and one is {answer.grade}.")
    if answer.part > MAX_PART:
        raise BadGoldenSet(f"An answer has at most {MAX_PART} parts, and one is {answer.part}.")
    document = known.get(prefix + answer.source_uri)
    if document is not None and (answer.quote or answer.start is not None):
        if document.pk not in texts:
            texts[document.pk] = live_text(document)
        found = _find(answer, texts[document.pk])
        if found is None:
            _refuse(report, f"not in {document.source_uri}: {answer.quote[:80]!r}")
            return None
        answer = found
    elif document is None:
        report.missing += 1
        if answer.quote and (answer.start is None or answer.end is None):
            _refuse(
                report, f"{answer.source_uri} does not exist, so its quotation cannot be located"
            )
            return None
    return Judgement(
        namespace_id=query.namespace_id,
        query=query,
        source_uri=document.source_uri if document else prefix + answer.source_uri,
        document=document,
        start=answer.start if answer.quote else None,
        end=answer.end if answer.quote else None,
        quote=answer.quote,
        grade=answer.grade,
        part=answer.part,
        is_hard_negative=answer.hard_negative,
    )


def _find(answer: GoldenAnswer, text: str) -> GoldenAnswer | None:
    """Locate the answer in the text, by its quotation, else by its span."""
    if answer.quote:
        place = place_of(answer.quote, text, near=answer.start or 0)
    elif answer.start is not None and answer.end and answer.start < answer.end <= len(text):
        place = (answer.start, answer.end)
    else:
        place = None
    if place is None or not text[slice(*place)].strip():
        return None
    return replace(answer, start=place[0], end=place[1], quote=text[slice(*place)])


def _refuse(report: ImportReport, why: str) -> None:
    if len(report.refused) < MAX_ERRORS_LISTED:
        report.refused.append(why)


def ingest_corpus(
    namespace_id: uuid.UUID,
    articles: Iterable[Article],
    *,
    prefix: str,
    took: Callable[[], None] = lambda: None,
    indexed: Callable[[int, int], None] = lambda done, total: None,
) -> CorpusReport:
    """Ingest a corpus through the usual pipeline. Known documents are not indexed again.

    The title becomes the text of an article that has none.
    """
    report = CorpusReport()
    job_ids = []
    for article in articles:
        source_uri = prefix + article.name
        if not article.whole.strip():
            report.skipped.append(source_uri)
            took()
            continue
        content = storable_text(article.text.strip() or article.title)
        try:
            receipt = intake.accept(
                namespace_id,
                intake.Submission(
                    content=ContentFile(content.encode()),
                    media_type="text/plain",
                    source_uri=source_uri,
                    title=storable_text(article.title) or article.name,
                    on_duplicate="keep",
                ),
            )
        except IngestError as error:
            report.failed.append(f"{source_uri}: {error.code}")
        else:
            report.taken += 1
            if receipt.job_id:
                job_ids.append(receipt.job_id)
        took()
    failed = run_until_done(namespace_id, job_ids, progress=indexed)
    report.indexed = len(job_ids) - len(failed)
    report.failed += [f"{document.source_uri}: {document.error_code}" for document in failed]
    return report
