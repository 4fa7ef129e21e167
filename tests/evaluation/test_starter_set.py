"""The starter set that ships: honest in form, and the figures it must show with the real model."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from django.conf import settings
from django.core.management import call_command

from documents.models import Namespace
from evaluation.golden import starter
from evaluation.golden.formats import read_jsonl
from evaluation.models import EvaluationRun, GoldenSet
from ragsite.database.tenancy import namespace
from ragsite.service import bootstrap

SAMPLES = Path(settings.BASE_DIR) / "documents" / "samples"


def test_sixty_queries_of_five_kinds_over_all_samples_quote_what_is_there():
    questions = read_jsonl(starter.PATH.read_text().splitlines())
    assert len(questions) == len({question.text for question in questions}) == 60
    kinds = Counter(tag for question in questions for tag in question.tags)
    assert set(kinds) == {"question", "keywords", "identifier", "paraphrase", "multi-part"}
    assert min(kinds.values()) >= 8
    answers = [answer for question in questions for answer in question.answers]
    assert {a.source_uri for a in answers} == {f"sample:{p.name}" for p in SAMPLES.glob("*.md")}
    for answer in answers:
        text = (SAMPLES / answer.source_uri.removeprefix("sample:")).read_text()
        assert text.count(answer.quote) == 1, answer.quote


def test_it_shows_the_published_figures(real_tenant: Namespace):
    assert starter.load(real_tenant.pk) is None  # nothing to ask about yet
    where = f"--namespace={real_tenant.slug}"
    call_command("load_starter_set", where)
    call_command("load_starter_set", where)  # again changes nothing
    gates = ["--fail-under=recall@10=0.8", "--fail-under=mrr@10=0.7", "--fail-under=ndcg@10=0.7"]
    call_command("evaluate", "--golden-set=starter", where, *gates)
    with namespace(real_tenant.pk):
        assert GoldenSet.objects.get().queries.count() == 60
        run = EvaluationRun.objects.get()
    assert (run.queries_done, run.warnings) == (60, [])


def test_the_first_start_loads_it_once(real_tenant: Namespace, work: Callable[[], int]):
    credentials = bootstrap.Credentials()
    bootstrap.load_starter_set(credentials, real_tenant.pk)
    assert not credentials.starter_set_loaded  # no samples were asked for
    bootstrap.take_samples(real_tenant.pk)
    work()
    credentials.samples_loaded = True
    bootstrap.load_starter_set(credentials, real_tenant.pk)
    with namespace(real_tenant.pk):
        GoldenSet.objects.get(name="starter").delete()
    bootstrap.load_starter_set(bootstrap.Credentials.load(), real_tenant.pk)
    with namespace(real_tenant.pk):
        assert not GoldenSet.objects.exists()  # deleted stays deleted
