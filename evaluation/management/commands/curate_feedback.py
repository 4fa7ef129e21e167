"""`manage.py curate_feedback NAME`: turns feedback on answers into a golden set."""

import json
from dataclasses import asdict
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser
from rest_framework.exceptions import ValidationError

from documents.api.fields import MomentField
from evaluation.golden.feedback import USEFUL, curate
from evaluation.management.options import find_tenant
from evaluation.models import Feedback, GoldenSet
from ragsite.database.tenancy import namespace
from ragsite.platform.wording import plural


class Command(BaseCommand):
    help = (
        "Turn feedback into golden queries: each question becomes a query, each selected passage "
        "a judgement (grade 2 if the answer was useful, 1 if that was not stated, a hard negative "
        "if it was not useful). Existing judgements are kept, so it is safe to run again. The set "
        "is created if it does not exist."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="Name of the golden set.")
        parser.add_argument("--namespace", default="default", help="Slug (default: default).")
        parser.add_argument("--since", help="Only feedback since this date or ISO 8601 time.")
        parser.add_argument(
            "--useful", choices=list(USEFUL), help="Only feedback with this verdict."
        )
        parser.add_argument("--json", action="store_true", help="Print the report as JSON.")

    def handle(self, *args: Any, **options: Any) -> None:
        tenant = find_tenant(options["namespace"])
        wanted: dict[str, Any] = {}
        if options["since"]:
            try:
                wanted["created_at__gte"] = MomentField().run_validation(options["since"])
            except ValidationError as error:
                raise CommandError(f"--since: {error.detail[0]}") from None  # type: ignore[index]
        if options["useful"]:
            wanted["useful"] = USEFUL[options["useful"]]
        with namespace(tenant.pk):
            feedback = list(Feedback.objects.filter(namespace=tenant, **wanted))
            if not feedback:
                raise CommandError("No feedback matches.")
            golden_set, _ = GoldenSet.objects.get_or_create(namespace=tenant, name=options["name"])
            curated = curate(golden_set, feedback)
        if options["json"]:
            self.stdout.write(json.dumps({"golden_set": golden_set.name, **asdict(curated)}))
            return
        for line in curated.refused:
            self.stderr.write(self.style.WARNING(line))
        self.stdout.write(
            f"{plural(curated.queries, 'query')} with "
            f"{plural(curated.judgements, 'new judgement')} in {golden_set.name!r}; "
            f"{plural(curated.judged_already, 'passage')} already judged, "
            f"{curated.gone} no longer in their documents"
        )
