"""`manage.py recall`: measure the recall and latency of the vector index."""

import json
from dataclasses import asdict
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from documents.models import Namespace
from evaluation.experiments.ann_recall import ann_recall
from evaluation.management.options import find_tenant
from evaluation.reports.tables import table
from ragsite.database.tenancy import operator

HEAD = ("namespace", "size", "chunks", "filter", "left", "plan", "recall", "worst", "p50", "p95")


class Command(BaseCommand):
    help = (
        "Recall of the vector leg against an exact scan, for every namespace (or one) by its size "
        "and by selectivity of a filter, with the namespace's golden queries or, if there "
        "are fewer than 20, stored chunks. Times in milliseconds; `exact` is a full scan."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--namespace", help="Slug (default: all).")
        parser.add_argument(
            "-k", type=int, default=10, help="Number of nearest chunks to compare (default: 10)."
        )
        parser.add_argument(
            "--queries", type=int, default=100, help="Maximum number of questions (default: 100)."
        )
        parser.add_argument(
            "--shares",
            default="1,0.5,0.1,0.01",
            help="Shares of documents that filters let pass (default: 1,0.5,0.1,0.01).",
        )
        parser.add_argument(
            "--always-index",
            action="store_true",
            help="Use the index even for so few rows that a search would scan them.",
        )
        parser.add_argument("--json", action="store_true", help="Print a JSON object per line.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            shares = [float(share) for share in options["shares"].split(",")]
        except ValueError:
            raise CommandError("--shares takes numbers with commas between them.") from None
        if not all(0 < share <= 1 for share in shares) or options["k"] < 1:
            raise CommandError("Shares must be above 0 and at most 1, and k at least 1.")
        if options["namespace"]:
            tenants = [find_tenant(options["namespace"])]
        else:
            with operator():
                all_of_them = Namespace.objects.select_related("active_profile")
                tenants = list(all_of_them.filter(chunk_count__gt=0).order_by("chunk_count"))
        measured = [
            row
            for tenant in tenants
            for row in ann_recall(
                tenant,
                shares=shares,
                queries=options["queries"],
                k=options["k"],
                always_index=options["always_index"],
            )
        ]
        if options["json"]:
            for row in measured:
                self.stdout.write(json.dumps({**asdict(row), "size": row.size}))
            return
        self.stdout.write(
            table(
                (*HEAD, "exact"),
                [
                    (
                        row.namespace,
                        row.size,
                        f"{row.chunks:,}",
                        f"{row.share:.0%}",
                        f"{row.left:,}",
                        row.plan,
                        f"{row.recall:.4f}",
                        f"{row.worst:.2f}",
                        f"{row.p50_ms:.1f}",
                        f"{row.p95_ms:.1f}",
                        f"{row.exact_p50_ms:.1f}",
                    )
                    for row in measured
                ],
            )
        )
