"""`manage.py load_starter_set`: the sample documents and the starter golden set over them."""

from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from documents.jobs.drain import run_until_done
from evaluation.golden import starter
from evaluation.management.options import bar_updater, find_tenant, progress_bar
from ragsite.platform.wording import plural
from ragsite.service.bootstrap import take_samples


class Command(BaseCommand):
    help = (
        "Ingest and index the sample documents, and load the starter set over them: 60 "
        "curated queries. `make run` does so in the default namespace at its first start."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--namespace", default="default", help="Slug (default: default).")

    def handle(self, *args: Any, **options: Any) -> None:
        tenant = find_tenant(options["namespace"])
        with progress_bar("indexing", "document") as shown:
            run_until_done(tenant.pk, take_samples(tenant.pk), progress=bar_updater(shown))
        report = starter.load(tenant.pk)
        if report is None:
            raise CommandError("The sample documents could not be indexed; see manage.py ingest.")
        self.stdout.write(
            f"{plural(report.queries, 'query')} with {plural(report.judgements, 'judgement')} "
            f"in {starter.NAME!r}"
        )
